"""Every program that the helper runs is told with the answer to the call that ran it."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING, Any

import pytest

from runbook.onhost import ran
from runbook.ssh import InProcessWire
from tests.onhost.test_standing_alone import SOURCES, imported
from tests.sshd import script

if TYPE_CHECKING:
    from pathlib import Path

    from tests.onhost.conftest import FakeSystemd

RUNNING = "Id=a.service\nLoadState=loaded\nActiveState=active\nMainPID=4711\n"


def told(wire: InProcessWire, call: str, **args: Any) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = wire.answer(call, **args).get("ran", [])
    return found


def ends(rows: list[dict[str, Any]]) -> list[tuple[str, int | None, str | None]]:
    return [(" ".join(row["argv"]), row["exit"], row["error"]) for row in rows]


# ------------------------------------------------------------------ one seam


def test_programs_are_started_in_two_modules_and_no_other() -> None:
    """Anything else that starts one would go past the record."""
    starting = re.compile(r"exec[vl]\w*|popen|posix_spawnp?|spawn\w+|system")
    trees = {path.stem: ast.parse(path.read_text(encoding="utf-8")) for path in SOURCES}
    assert {name for name, tree in trees.items() if "subprocess" in imported(tree)} == {"command", "jobs"}
    named = {
        node.attr for tree in trees.values() for node in ast.walk(tree) if isinstance(node, ast.Attribute)
    }
    assert not list(filter(starting.fullmatch, named))


@pytest.mark.real
def test_a_call_tells_what_it_ran_with_exit_and_time(systemd: FakeSystemd, writing: InProcessWire) -> None:
    systemd.shows(RUNNING)
    show, restart = told(writing, "unit_restart", unit="a.service")
    assert (show["argv"][:2], show["exit"], show["error"]) == (["systemctl", "show"], 0, None)
    assert restart["argv"] == ["systemctl", "restart", "--no-block", "--", "a.service"]
    assert 0 < restart["took_s"] < 60


@pytest.mark.real
def test_a_call_that_fails_tells_it_too(systemd: FakeSystemd, writing: InProcessWire) -> None:
    systemd.fails(4, "Interactive authentication required.")
    answer = writing.answer("daemon_reload")
    assert answer["error"]["kind"] == "failed"
    assert ends(answer["ran"]) == [("systemctl daemon-reload", 4, None)]


@pytest.mark.real
def test_each_call_of_a_row_tells_its_own(systemd: FakeSystemd, writing: InProcessWire) -> None:
    row = [
        {"call": "daemon_reload", "args": {}},
        {"call": "ping", "args": {}},
        {"call": "units", "args": {"units": []}},
    ]
    answer = writing.answer("several", calls=row)
    assert "ran" not in answer
    assert [ends(one.get("ran", [])) for one in answer["ok"]] == [
        [("systemctl daemon-reload", 0, None)],
        [],
        [],
    ]


@pytest.mark.real
def test_a_program_that_is_not_there_is_told_as_that(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with InProcessWire("writing") as wire:
        assert ends(told(wire, "daemon_reload")) == [("systemctl daemon-reload", None, ran.ABSENT)]


@pytest.mark.real
def test_a_program_that_cannot_be_started_is_told_with_the_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "systemctl").mkdir()
    monkeypatch.setenv("PATH", str(tmp_path))
    with InProcessWire("writing") as wire:
        assert ends(told(wire, "daemon_reload")) == [("systemctl daemon-reload", None, "Permission denied")]


@pytest.mark.real
def test_a_check_before_a_write_is_told(tmp_path: Path, writing: InProcessWire) -> None:
    change: dict[str, Any] = {
        "path": str(tmp_path / "a.sh"), "before": None, "b64": "ZmkK", "mode": 0o755, "uid": None, "gid": None,
        "check": "bash", "xattrs": {},
    }  # fmt: skip
    answer = writing.answer("files_write", changes=[change])
    (check,) = answer["ran"]
    assert (check["argv"][:2], check["exit"]) == (["bash", "-n"], 2)


def test_outside_of_a_call_a_program_is_told_to_nobody() -> None:
    program = ran.note(ran.Program(["true"]))
    with ran.noted() as programs:
        pass
    assert (programs, program.is_open) == ([], True)


# ------------------------------------------------------------------ jobs


@pytest.mark.real
def test_a_job_is_told_once_with_the_answer_that_tells_its_exit() -> None:
    with InProcessWire("running") as wire:
        job = wire.call("job_start", argv=["sh", "-c", "exit 3"])["job"]
        answers = [wire.answer("job_poll", job=job, wait_s=20.0) for _ in range(2)]
    assert [answer["ok"]["exit"] for answer in answers] == [3, 3]
    assert [ends(answer.get("ran", [])) for answer in answers] == [[("sh -c exit 3", 3, None)], []]


@pytest.mark.real
def test_a_job_that_was_stopped_is_told_with_its_signal() -> None:
    with InProcessWire("running") as wire:
        job = wire.call("job_start", argv=["sleep", "60"])["job"]
        assert ends(told(wire, "job_stop", job=job)) == [("sleep 60", -15, None)]


# ------------------------------------------------------------------ words


@pytest.mark.parametrize(
    ("argv", "want"),
    [
        (["serve", "--api-key", "sesame", "--port", "1"], ["serve", "--api-key", "***", "--port", "1"]),
        (["serve", "--api-key=sesame"], ["serve", "--api-key=***"]),
        (["env", "HF_TOKEN=sesame", "serve"], ["env", "HF_TOKEN=***", "serve"]),
        (["sh", "-c", "HF_TOKEN=sesame exec serve"], ["sh", "-c", "HF_TOKEN=*** exec serve"]),
        (["git", "clone", "https://ann:sesame@example.net/"], ["git", "clone", "https://***@example.net/"]),
        (["true"], ["true"]),
        ([], []),
    ],
)  # fmt: skip
def test_secrets_among_the_words_stay_on_the_host(argv: list[str], want: list[str]) -> None:
    assert ran.shown(argv) == want


def test_a_long_command_is_kept_by_whole_words_and_the_others_are_counted() -> None:
    *kept, more = ran.shown(["cat", *(f"file-{number}" for number in range(1000))])
    assert kept[-1] == f"file-{len(kept) - 2}"
    assert more == f"({1001 - len(kept)} more words)"
    assert ran.LIMIT_CHARACTERS - 20 < sum(len(word) + 1 for word in kept) <= ran.LIMIT_CHARACTERS
    assert ran.shown(["sh", "-c", "x" * 5000, "more"]) == ["sh", "-c", "(2 more words)"]


@pytest.mark.real
def test_what_a_call_that_failed_waits_for_no_longer_is_ended_and_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script(tmp_path / "systemctl", '[ "$1" = show ] && exit 1; exec sleep 60\n')
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    question: dict[str, Any] = {
        "state": str(tmp_path / "s"),
        "files": [],
        "units": ["a.service"],
        "names": [],
        "patterns": [],
    }
    with InProcessWire("reading") as wire:
        manager, show = wire.answer("observe", **question)["ran"]
    assert (manager["argv"][1], manager["exit"], manager["error"]) == ("show-environment", -9, ran.LET_GO)
    assert (show["argv"][1], show["exit"]) == ("show", 1)
