"""git is asked everything at once: the whole takes as long as its slowest answer, and no longer than one deadline."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from runbook import git
from tests.onhost.helper import alive
from tests.sshd import script

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.real

# It answers with its last word, once as many were asked as there are questions.
MEETING = """\
here="$(dirname "$0")"
touch "$here/asked-$$"
for _ in $(seq 200); do
  [ "$(ls "$here" | grep -c asked-)" -lt 3 ] || break
  sleep 0.02
done
[ "$(ls "$here" | grep -c asked-)" -ge 3 ] || exit 1
for word; do :; done
echo "$word"
"""
# It answers in no time what is no question for `status`, and that never.
HANGING = """\
case "$*" in *status*) echo $$ >>"$(dirname "$0")/pids"; exec sleep 60 ;; esac
echo "$4"
"""


def put(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    script(tmp_path / "git", text)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")


def test_all_questions_are_asked_at_once_and_answered_in_their_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(tmp_path, monkeypatch, MEETING)
    assert git.ask(tmp_path, ["a"], ["b"], ["c"]) == ["a", "b", "c"]


def test_what_hangs_has_no_answer_and_is_ended_and_the_others_have_theirs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(tmp_path, monkeypatch, HANGING)
    assert git.ask(tmp_path, ["log"], ["status"], ["diff"], ["status"], deadline_s=1.0) == [
        "log",
        None,
        "diff",
        None,
    ]
    assert not any(alive(int(pid)) for pid in (tmp_path / "pids").read_text().split())


def test_more_than_a_pipe_holds_comes_through(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(tmp_path, monkeypatch, "head -c 300000 /dev/zero | tr '\\0' x\n")
    assert git.ask(tmp_path, ["a"], ["b"]) == ["x" * 300_000] * 2


@pytest.mark.parametrize("text", ["exit 128", "echo half; exit 1"])
def test_a_git_that_fails_has_no_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    put(tmp_path, monkeypatch, text)
    assert git.ask(tmp_path, ["a"]) == [None]


def test_without_git_there_is_no_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert git.ask(tmp_path, ["a"], ["b"]) == [None, None]
