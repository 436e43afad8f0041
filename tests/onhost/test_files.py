"""Files as they are, and none that would take all memory or never end."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from runbook.onhost import files
from runbook.onhost.calls import Refusal


def test_a_file_larger_than_any_script_is_told_and_not_read(tmp_path: Path) -> None:
    path = tmp_path / "serve.sh"
    with path.open("wb") as file:
        file.truncate(10 << 30)  # a hole: it takes no room
    look = files.look(str(path))
    assert (look["exists"], look["b64"]) == (True, None)
    assert look["error"] == f"{path} has {10 << 30} bytes, at most {files.LIMIT_BYTES} are handled"


@pytest.mark.skipif(not Path("/proc/self/maps").exists(), reason="needs a process file system")
def test_a_file_that_says_it_is_empty_and_is_not_is_read_up_to_the_limit() -> None:
    with pytest.raises(Refusal, match="/proc/self/maps has more than 100 bytes, at most 100 are handled"):
        files.content_of("/proc/self/maps", 100)


def test_a_pipe_a_device_and_a_directory_are_no_files_and_are_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in (str(tmp_path / "pipe"), "/dev/zero", str(tmp_path)):
        assert "is not a regular file" in files.look(path)["error"]
