from __future__ import annotations

import os
from typing import TYPE_CHECKING

from runbook.inventory import lookup

if TYPE_CHECKING:
    from pathlib import Path


def test_a_pipe_or_device_is_no_host(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.yml")
    (tmp_path / "device.yml").symlink_to("/dev/zero")
    assert lookup.known(tmp_path) == ()
