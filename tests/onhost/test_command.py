from __future__ import annotations

import os
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
