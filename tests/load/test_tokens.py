from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from runbook.load.tokens import NoTokenizerError, counter

if TYPE_CHECKING:
    from pathlib import Path


def test_a_pipe_is_no_tokenizer_and_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(NoTokenizerError, match="no such file"):
        counter(str(tmp_path / "pipe"))
