"""Other tools in virtual environments of their own: in the user's cache, never among the project's requirements."""

from __future__ import annotations

import shutil
import subprocess
import sys
import venv
from typing import TYPE_CHECKING

from runbook import usercache

if TYPE_CHECKING:
    from pathlib import Path

_INSTALL_TIMEOUT_S = 600.0
_LAST_LINES = 3


class NotInstalledError(Exception):
    """The package index has no such package for this Python, or cannot be reached."""


def programs(requirement: str) -> Path:
    """The directory of the programs that a requirement brings, installed on first use; raises NotInstalledError."""
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    home = usercache.directory() / "others" / f"{requirement}-py{version}"
    whole = home / "installed"
    if not whole.exists():
        shutil.rmtree(home, ignore_errors=True)
        venv.create(home, with_pip=True)
        _install(home, requirement)
        whole.touch()
    return home / "bin"


def _install(home: Path, requirement: str) -> None:
    argv = [str(home / "bin" / "pip"), "install", "--quiet", requirement]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=_INSTALL_TIMEOUT_S, check=False)
    if done.returncode:
        last = " ".join(done.stderr.strip().splitlines()[-_LAST_LINES:])
        raise NotInstalledError(f"{requirement} could not be installed: {last}")


def version(programs: Path, distribution: str) -> str:
    """The installed version of a distribution."""
    code = f"from importlib.metadata import version; print(version({distribution!r}))"
    argv = [str(programs / "python"), "-I", "-c", code]
    return subprocess.run(argv, capture_output=True, text=True, check=True).stdout.strip()
