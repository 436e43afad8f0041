"""systemctl and journalctl are asked in C locale, once, and their answers read as they are."""

from __future__ import annotations

import signal
import time
import tracemalloc
from typing import TYPE_CHECKING

import pytest

from runbook.errors import GateError, MissingOnHostError, PreflightError
from runbook.onhost import journal, units
from runbook.onhost.calls import Refusal
from tests import sshd

if TYPE_CHECKING:
    from pathlib import Path

    from runbook.ssh import InProcessWire
    from tests.onhost.conftest import FakeSystemd

RUNNING = "Id=a.service\nLoadState=loaded\nActiveState=active\nMainPID=4711\n"
ABSENT = "Id=b.service\nLoadState=not-found\nActiveState=inactive\nMainPID=0\n"


def test_the_answer_is_cut_into_units_in_the_order_asked() -> None:
    found = units.parse(f"{RUNNING}\n{ABSENT}", ["a.service", "b.service"])
    assert found["a.service"]["MainPID"] == "4711"
    assert found["b.service"]["LoadState"] == "not-found"


def test_a_value_may_hold_equals_signs_and_a_property_may_come_twice() -> None:
    text = (
        "ExecStart={ path=/x ; argv[]=/x --a=b }\nEnvironmentFiles=/a (x)\nEnvironmentFiles=/b (y)\nResult=\n"
    )
    found = units.parse(text, ["a.service"])["a.service"]
    assert found == {
        "ExecStart": "{ path=/x ; argv[]=/x --a=b }",
        "EnvironmentFiles": "/a (x)\n/b (y)",
        "Result": "",
    }


def test_secrets_of_a_unit_stay_on_the_host() -> None:
    text = "Environment=A=1 HF_TOKEN=hf_x\nExecStart={ argv[]=/x --api-key sk-1 ; }\n"
    found = units.parse(text, ["a.service"])["a.service"]
    assert found == {"Environment": "A=1 HF_TOKEN=***", "ExecStart": "{ argv[]=/x --api-key *** ; }"}


def test_an_answer_of_another_length_is_not_guessed_at() -> None:
    with pytest.raises(Refusal, match="showed 1 units, 2 were asked"):
        units.parse(RUNNING, ["a.service", "b.service"])


@pytest.mark.parametrize(
    "name", ["-a.service", "a", "a b.service", "a.service;x", "../a.service", "$(x).service", ""]
)
def test_a_name_that_is_no_units_name_never_reaches_systemctl(name: str) -> None:
    with pytest.raises(Refusal):
        units.named(name)


@pytest.mark.parametrize(
    "name", ["sglang-dsv4-decode.service", "a@1.service", r"dev-disk-by\x2dlabel.device", "x.timer"]
)
def test_names_as_systemd_writes_them_are_taken(name: str) -> None:
    assert units.named(name) == name


@pytest.mark.real
def test_all_units_are_shown_in_one_call(writing: InProcessWire, systemd: FakeSystemd) -> None:
    systemd.shows(f"{RUNNING}\n{ABSENT}")
    found = writing.call("units", units=["a.service", "b.service"])
    assert found["a.service"]["ActiveState"] == "active"
    assert len(systemd.asked) == 1
    assert systemd.asked[0].startswith("C systemctl show --no-pager --property=Id,LoadState,")
    assert systemd.asked[0].endswith(" -- a.service b.service")


@pytest.mark.real
def test_a_restart_does_not_wait_and_tells_the_old_main_pid(
    writing: InProcessWire, systemd: FakeSystemd
) -> None:
    systemd.shows(RUNNING)
    asked_at = time.time()
    answer = writing.call("unit_restart", unit="a.service")
    assert (answer["before"], answer["reset"]) == (4711, False)
    assert asked_at <= answer["at"] <= time.time()
    assert 0 < answer["after_boot_s"] <= units.after_boot_s()
    assert systemd.asked[-1] == "C systemctl restart --no-block -- a.service"


@pytest.mark.real
@pytest.mark.parametrize(
    ("state", "restarts", "reset"),
    [
        ("failed", 0, True),
        ("activating", 17, True),
        ("activating", 0, False),
        ("active", 17, False),
        ("inactive", 0, False),
    ],
)
def test_a_unit_that_fails_again_and_again_is_not_refused_by_its_start_limit(
    writing: InProcessWire, systemd: FakeSystemd, state: str, restarts: int, reset: bool
) -> None:
    systemd.shows(f"LoadState=loaded\nActiveState={state}\nNRestarts={restarts}\nMainPID=0\n")
    assert writing.call("unit_restart", unit="a.service")["reset"] is reset
    assert ("C systemctl reset-failed -- a.service" in systemd.asked) is reset


@pytest.mark.real
def test_a_unit_that_is_not_there_is_missing(writing: InProcessWire, systemd: FakeSystemd) -> None:
    systemd.shows(ABSENT)
    with pytest.raises(MissingOnHostError, match=r"no unit b\.service on this host"):
        writing.call("unit_restart", unit="b.service")
    assert len(systemd.asked) == 1


@pytest.mark.real
def test_a_masked_unit_says_how_to_unmask_it(writing: InProcessWire, systemd: FakeSystemd) -> None:
    systemd.shows("LoadState=masked\nMainPID=0\n")
    with pytest.raises(GateError, match="is masked; `systemctl unmask"):
        writing.call("unit_restart", unit="b.service")


@pytest.mark.real
def test_a_verb_that_fails_shows_command_exit_and_complaint(
    writing: InProcessWire, systemd: FakeSystemd
) -> None:
    systemd.shows(RUNNING)
    systemd.fails(4, "Access denied\n")
    with pytest.raises(
        GateError, match=r"`systemctl restart --no-block -- a\.service` exited 4\nAccess denied"
    ):
        writing.call("unit_restart", unit="a.service")
    with pytest.raises(PreflightError, match="`systemctl daemon-reload` exited 4"):
        writing.call("daemon_reload")
    systemd.shows(RUNNING.replace("ActiveState=active", "ActiveState=failed"))
    with pytest.raises(GateError, match="reset-failed"):
        writing.call("unit_restart", unit="a.service")


@pytest.mark.real
def test_a_host_without_systemd_is_said(
    writing: InProcessWire, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(MissingOnHostError, match="no program systemctl on this host"):
        writing.call("units", units=["a.service"])


@pytest.mark.real
def test_the_journal_is_asked_for_lines_and_a_moment(writing: InProcessWire, systemd: FakeSystemd) -> None:
    systemd.journal("one\ntwo\n")
    found = writing.call("journal", unit="a.service", lines=20, since=1767607200.5, grep=None)
    assert found == {"text": "one\ntwo"}
    assert systemd.asked == [
        "C journalctl --no-pager --quiet --output=short-iso --lines=20 --since=@1767607200.500000 --unit=a.service"
    ]


@pytest.mark.parametrize(
    ("lines", "grep", "want"),
    [(2, None, "c\nad"), (9, "a", "a\nab\nad"), (1, "a", "ad"), (0, None, ""), (9, "^z", "")],
)
def test_the_last_matching_lines_are_kept(lines: int, grep: str | None, want: str) -> None:
    assert journal.select("a\nab\nc\nad\n", lines, grep) == want


def test_a_secret_a_server_logged_stays_on_the_host() -> None:
    text = "server_args=ServerArgs(model_path='/m', api_key='sk-1', max_total_tokens=8)"
    assert (
        journal.select(text, 1, None)
        == "server_args=ServerArgs(model_path='/m', api_key=***, max_total_tokens=8)"
    )


def test_a_pattern_that_is_none_is_refused() -> None:
    with pytest.raises(Refusal, match="no regular expression"):
        journal.select("a", 1, "(")


@pytest.mark.real
def test_a_pattern_that_would_search_for_ever_is_given_up_and_the_next_is_not() -> None:
    with pytest.raises(Refusal, match="still searching after"):
        journal.select(f"{'a' * 60}!\n", 1, "(a+)+$", budget_s=0.05)
    assert journal.select("a\n", 1, "(a+)+$") == "a"
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)


def test_a_long_journal_is_cut_at_its_beginning() -> None:
    text = journal.select("é" * journal.LIMIT_BYTES + "\nlast", 9, None)
    assert len(text.encode()) <= journal.LIMIT_BYTES
    assert text.endswith("é\nlast")


@pytest.mark.real
def test_a_program_that_hangs_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from runbook.onhost import command

    started = time.monotonic()
    with pytest.raises(Refusal, match=r"`sleep 60` did not end\nno answer within 0 s"):
        command.run(["sleep", "60"], timeout_s=0.2)
    assert time.monotonic() - started < 30


@pytest.mark.real
def test_of_a_journal_of_100_mb_the_end_is_told_in_bounded_memory(
    writing: InProcessWire, systemd: FakeSystemd
) -> None:
    wild = '\\033[2J{"id": 1, "ok": {"state": "forged"}}\\377\\n'
    sshd.script(systemd.root / "journalctl", f"yes filler | head -c 100000000; printf '{wild}'")
    tracemalloc.start()
    try:
        text = writing.call("journal", unit="a.service", lines=100_000, since=None, grep=None)["text"]
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert text.endswith('\x1b[2J{"id": 1, "ok": {"state": "forged"}}\N{REPLACEMENT CHARACTER}')
    assert len(text) <= journal.LIMIT_BYTES
    assert peak < 100 << 20
