"""Run a serve script for real, with a stand-in server that records the environment it was given."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

LAUNCHERS = ("python", "python3")
_OWN = frozenset({"PATH", "PWD", "OLDPWD", "SHLVL", "_", "LC_ALL", "HOME"})


def lay(folder: Path) -> Path:
    """Put stand-in servers into a folder; each writes its environment to `seen` there and ends."""
    stub = f"#!/bin/sh\nexec /usr/bin/env -0 > {folder}/seen\n"
    for name in LAUNCHERS:
        (folder / name).write_text(stub)
        (folder / name).chmod(0o755)
    return folder


def environment(folder: Path, script: bytes) -> dict[bytes, bytes] | None:
    """What the server gets when bash runs the script, without what every process has; None if none is started."""
    (folder / "serve.sh").write_bytes(script)
    seen = folder / "seen"
    seen.unlink(missing_ok=True)
    subprocess.run(
        ["bash", "serve.sh"],
        cwd=folder,
        env={"PATH": f"{folder}:/usr/bin:/bin", "HOME": str(folder), "LC_ALL": "C.UTF-8"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=20,
        check=False,
    )
    if not seen.exists():
        return None
    pairs = (entry.partition(b"=") for entry in seen.read_bytes().split(b"\0") if entry)
    return {name: value for name, _, value in pairs if name.decode("utf-8", "replace") not in _OWN}
