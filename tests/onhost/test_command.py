from __future__ import annotations

import os
import tracemalloc
from typing import TYPE_CHECKING

import pytest

from runbook.onhost import command
from runbook.onhost.calls import Refusal
from tests.sshd import script

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.real


def test_a_program_that_does_not_answer_is_let_go_though_what_it_started_lives_on(tmp_path: Path) -> None:
    script(tmp_path / "hangs", f"sleep 30 & echo $! >{tmp_path}/child; exec sleep 30")
    with pytest.raises(Refusal, match=r"`.*hangs` did not end\nno answer within 1 s"):
        command.run([str(tmp_path / "hangs")], timeout_s=0.7)
    os.kill(int((tmp_path / "child").read_text()), 9)


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
