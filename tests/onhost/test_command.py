from __future__ import annotations

import os
import tracemalloc
from typing import TYPE_CHECKING

import pytest

from runbook.onhost import command
from runbook.onhost.calls import Refusal
from tests.onhost.helper import alive
from tests.sshd import script

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.real


def test_a_program_that_does_not_answer_is_let_go_though_what_it_started_lives_on(tmp_path: Path) -> None:
    script(tmp_path / "hangs", f"sleep 30 & echo $! >{tmp_path}/child; exec sleep 30")
    with pytest.raises(Refusal, match=r"`.*hangs` did not end\nno answer within 1 s"):
        command.run([str(tmp_path / "hangs")], timeout_s=0.7)
    os.kill(int((tmp_path / "child").read_text()), 9)


def test_what_runs_together_has_one_deadline_and_none_outlives_it(tmp_path: Path) -> None:
    script(tmp_path / "hangs", f"echo $$ >>{tmp_path}/pids; exec sleep 30")
    with pytest.raises(Refusal, match="no answer within 1 s") as refused:
        command.run_together([[str(tmp_path / "hangs"), word] for word in "ab"], timeout_s=0.7)
    assert command.hung(refused.value)
    assert not any(alive(int(pid)) for pid in (tmp_path / "pids").read_text().split())


def test_what_runs_together_answers_in_the_order_asked(tmp_path: Path) -> None:
    script(tmp_path / "says", 'sleep "$1"; echo "$1"')
    says = str(tmp_path / "says")
    assert command.run_together([[says, "0.2"], [says, "0"]], timeout_s=20.0) == ["0.2\n", "0\n"]


@pytest.mark.parametrize("argv", [["false"], ["nvidia-smi-of-nobody"]])
def test_a_program_that_fails_or_is_missing_did_not_hang(argv: list[str]) -> None:
    with pytest.raises(Refusal) as refused:
        command.run(argv)
    assert not command.hung(refused.value)


def test_a_program_that_is_not_there_is_missing() -> None:
    with pytest.raises(Refusal, match="no program nvidia-smi-of-nobody") as refused:
        command.run(["nvidia-smi-of-nobody"])
    assert refused.value.kind == "missing"


def test_of_gigabytes_said_the_end_is_kept_in_bounded_memory(tmp_path: Path) -> None:
    script(tmp_path / "talks", "head -c 100000000 /dev/zero | tr '\\0' x; echo the end; echo why >&2")
    tracemalloc.start()
    try:
        said = command.run([str(tmp_path / "talks")])
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert said.endswith("xxthe end\n")
    assert len(said) == command.LIMIT_BYTES
    assert peak < 10 * command.LIMIT_BYTES


def test_a_program_that_never_stops_talking_is_ended(tmp_path: Path) -> None:
    script(tmp_path / "talks", "exec yes")
    with pytest.raises(Refusal, match="no answer within 1 s"):
        command.run([str(tmp_path / "talks")], timeout_s=0.7)


def test_a_program_that_closes_its_streams_and_lives_on_is_ended(tmp_path: Path) -> None:
    script(tmp_path / "hides", "exec sleep 30 >&- 2>&-")
    with pytest.raises(Refusal, match="no answer within 1 s"):
        command.run([str(tmp_path / "hides")], timeout_s=0.7)
