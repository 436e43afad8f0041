"""`plan --file`: what an edit would do to a local script, without a host and without writing."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from runbook import command_line

SCRIPT = "#!/bin/bash\nexport K=0 J=1\nexec python -m serve --x 1 --y\n"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "serve.sh"
    path.write_text(SCRIPT)
    return path


def previewed(file: Path, capsys: pytest.CaptureFixture[str], **given: Any) -> tuple[int, dict[str, Any]]:
    code = command_line.run("plan", file=str(file), json=True, **given)
    return code, json.loads(capsys.readouterr().out)


def changed(document: dict[str, Any]) -> list[str]:
    lines = document["plan"]["changes"][0]["diff"].splitlines()
    return [line for line in lines if line[:1] in "+-" and line[:3] not in ("+++", "---")]


def test_flags_and_launch_arguments_are_previewed_and_nothing_is_written(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, document = previewed(file, capsys, set_=["K=1", "--x=2", "--z"], unset=["J", "--y"])
    assert (code, changed(document)) == (
        0,
        [
            "-export K=0 J=1",
            "-exec python -m serve --x 1 --y",
            "+export K=1",
            "+exec python -m serve --x 2 --z",
        ],
    )
    assert file.read_text() == SCRIPT


def test_what_holds_already_changes_nothing(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, document = previewed(file, capsys, set_=["K=0", "--x=1", "--y"], unset=["NEW", "--new"])
    assert (code, changed(document)) == (0, [])


def test_a_refused_edit_names_file_and_line(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file.write_text('#!/bin/bash\nexec python -m serve "$@"\n')
    code, document = previewed(file, capsys, set_=["--x=1"])
    assert (code, document["error"]) == (
        2,
        f'{file}:2: "$@" may hold --x too, which only a run can tell; write the arguments out',
    )


@pytest.mark.parametrize("text", ["if\n", 'export A="\n'])
def test_a_script_that_does_not_parse_is_said_without_any_change_asked(
    text: str, file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file.write_text(text)
    assert previewed(file, capsys)[0] == 2


def test_a_file_that_is_not_there_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, document = previewed(tmp_path / "none.sh", capsys, set_=["K=1"])
    assert (code, document["error"]) == (2, f"{tmp_path / 'none.sh'}: No such file or directory")


def test_a_file_without_an_end_is_refused_instead_of_read(capsys: pytest.CaptureFixture[str]) -> None:
    code, document = previewed(Path("/dev/zero"), capsys, set_=["K=1"])
    assert code == 2
    assert "no serve script" in document["error"]


@pytest.mark.parametrize(
    ("name", "before", "after"),
    [
        ("flags.conf", "[Service]\nEnvironment=K=0\n", "+Environment=K=1"),
        ("decode.service", "[Service]\nEnvironment=K=0\n", "+Environment=K=1"),
        ("sglang.env", "K=0\n", "+K=1"),
        ("serve", "export K=0\nexec python\n", "+export K=1"),
        ("serve.tmpl", "#!/bin/bash\nexport K=0\nexec python\n", "+export K=1"),
    ],
)
def test_a_file_is_edited_as_what_its_name_or_first_line_says(
    name: str, before: str, after: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / name).write_text(before)
    code, document = previewed(tmp_path / name, capsys, set_=["K=1"])
    assert (code, changed(document)[-1]) == (0, after)


@pytest.mark.parametrize("name", ["gpu1.yml", "serve.py", "notes.txt"])
def test_what_is_no_script_by_its_name_and_first_line_is_refused(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / name).write_text("flags: {}\n")
    code, document = previewed(tmp_path / name, capsys, set_=["K=1"])
    assert code == 2
    assert document["error"].startswith(f"{tmp_path / name}: is no serve script")


def test_options_have_no_place_in_a_drop_in(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a.conf").write_text("[Service]\n")
    code, document = previewed(tmp_path / "a.conf", capsys, set_=["--x=1"])
    assert (code, document["error"]) == (
        2,
        f"{tmp_path / 'a.conf'}: launches nothing, so that --x has no command to stand on",
    )


def test_what_else_may_set_a_variable_is_said(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file.write_text('#!/bin/bash\nexport K=0\n. "$HOME/env.sh"\neval "$(hook)"\nexec python\n')
    _, document = previewed(file, capsys, set_=["K=1"])
    assert document["plan"]["notes"] == [
        f"not known what it sets: {file}: line 4: eval runs text that only a run knows",
        f'not known what it sets: {file}:3 sources "$HOME/env.sh", which is not read here',
    ]
    command_line.run("plan", file=str(file), set_=["K=1"])
    assert 'sources "$HOME/env.sh"' in capsys.readouterr().out
