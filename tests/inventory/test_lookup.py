from __future__ import annotations

import os
from typing import TYPE_CHECKING

from runbook.inventory import lookup

if TYPE_CHECKING:
    from pathlib import Path


def test_what_is_no_file_is_no_host(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.yml")
    (tmp_path / "directory.yml").mkdir()
    assert lookup.known(tmp_path) == ()
