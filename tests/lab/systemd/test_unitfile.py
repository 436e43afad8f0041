from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from runbook.lab.systemd.command import command_of, environment_of, parse_environment_file
from runbook.lab.systemd.unitfile import load_unit, needs_reload

CASES = yaml.safe_load((Path(__file__).parents[2] / "cases/lab/unitfile.yml").read_text())


def write(directory: Path, text: str, name: str = "a.service") -> None:
    (directory / name).parent.mkdir(exist_ok=True)
    (directory / name).write_text(text)


def plain(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value


@pytest.mark.parametrize("case", CASES, ids=[case["name"] for case in CASES])
def test_a_unit_file_is_read_as_systemd_reads_it(case: dict[str, Any], tmp_path: Path) -> None:
    write(tmp_path, case["text"])
    unit = load_unit(tmp_path, "a.service")
    if "error" in case:
        assert unit.load_state == "bad-setting"
        assert case["error"] in unit.problem
    else:
        assert {key: plain(getattr(unit, key)) for key in case["want"]} == case["want"], unit.problem


def test_dropins_are_laid_over_in_name_order(tmp_path: Path) -> None:
    write(tmp_path, "[Service]\nExecStart=/bin/true\nEnvironment=A=1 B=1\nRestart=no\n")
    write(tmp_path, "[Service]\nRestart=always\nEnvironment=A=3\n", "a.service.d/20-late.conf")
    write(tmp_path, "[Service]\nRestart=on-failure\nEnvironment=A=2 C=2\n", "a.service.d/10-early.conf")
    write(tmp_path, "[Service]\nRestart=on-abort\n", "a.service.d/ignored.txt")
    unit = load_unit(tmp_path, "a.service")
    assert unit.environment == {"A": "3", "B": "1", "C": "2"}
    assert unit.restart == "always"
    assert [Path(path).name for path in unit.dropins] == ["10-early.conf", "20-late.conf"]


def test_a_unit_that_is_not_there_is_not_found_and_one_linked_to_dev_null_is_masked(tmp_path: Path) -> None:
    (tmp_path / "masked.service").symlink_to("/dev/null")
    assert load_unit(tmp_path, "absent.service").load_state == "not-found"
    assert load_unit(tmp_path, "masked.service").load_state == "masked"


def test_bytes_that_are_no_utf8_do_not_stop_the_reading(tmp_path: Path) -> None:
    (tmp_path / "a.service").write_bytes(b"[Unit]\nDescription=\xff\n[Service]\nExecStart=/bin/true\n")
    assert load_unit(tmp_path, "a.service").load_state == "loaded"


def test_a_first_dropin_is_missed_until_a_reload_as_systemd_misses_it(tmp_path: Path) -> None:
    write(tmp_path, "[Service]\nExecStart=/bin/true\n")
    unit = load_unit(tmp_path, "a.service")
    write(tmp_path, "[Service]\nRestart=always\n", "a.service.d/x.conf")
    assert not needs_reload(tmp_path, unit)
    assert load_unit(tmp_path, "a.service").restart == "always"


def test_a_changed_file_a_new_dropin_and_a_removed_file_ask_for_a_reload(tmp_path: Path) -> None:
    import os

    write(tmp_path, "[Service]\nExecStart=/bin/true\n")
    (tmp_path / "a.service.d").mkdir()
    unit = load_unit(tmp_path, "a.service")
    assert not needs_reload(tmp_path, unit)
    write(tmp_path, "[Service]\nRestart=always\n", "a.service.d/x.conf")
    assert needs_reload(tmp_path, unit)
    unit = load_unit(tmp_path, "a.service")
    os.utime(tmp_path / "a.service", (1, 1))
    assert needs_reload(tmp_path, unit)
    unit = load_unit(tmp_path, "a.service")
    (tmp_path / "a.service").unlink()
    assert needs_reload(tmp_path, unit)


@pytest.mark.parametrize(
    ("text", "want"),
    [
        ("A=1\nB=two words\n", {"A": "1", "B": "two words"}),
        ("# A=1\n; B=2\n\nC=3", {"C": "3"}),
        ("export A=1\nB=2\n", {"B": "2"}),
        ('A="quoted # value"\nB=\'x\'\nC="\n', {"A": "quoted # value", "B": "x", "C": '"'}),
        ("A=one \\\n two\n", {"A": "one  two"}),
        ("A=1\nA=2\nno assignment\n1B=x\n=y\n", {"A": "2"}),
        ("A=x=y\nB=\n", {"A": "x=y", "B": ""}),
    ],
)
def test_an_environment_file_holds_assignments_and_export_is_none(text: str, want: dict[str, str]) -> None:
    assert parse_environment_file(text) == want


def test_environment_files_win_over_environment_and_only_an_optional_one_may_be_missing(
    tmp_path: Path,
) -> None:
    (tmp_path / "env").write_text("A=file\n")
    text = f"[Service]\nExecStart=/bin/true\nEnvironment=A=unit B=unit\nEnvironmentFile={tmp_path}/env\n"
    write(tmp_path, f"{text}EnvironmentFile=-{tmp_path}/absent\n")
    assert environment_of(load_unit(tmp_path, "a.service")) == {"A": "file", "B": "unit"}
    write(tmp_path, f"{text}EnvironmentFile={tmp_path}/absent\n")
    with pytest.raises(FileNotFoundError):
        environment_of(load_unit(tmp_path, "a.service"))


def test_variables_and_specifiers_of_the_command_are_filled_in_at_the_start(tmp_path: Path) -> None:
    write(
        tmp_path,
        "[Service]\nExecStart=/bin/echo $WORDS ${WORDS} x${ONE}y $ABSENT %n %N 100%% $5\n",
        "a.service",
    )
    unit = load_unit(tmp_path, "a.service")
    environ = {"WORDS": "a  b", "ONE": "1"}
    want = ("/bin/echo", "a", "b", "a  b", "x1y", "a.service", "a", "100%", "$5")
    assert command_of(unit, environ) == want
