"""What only some tasks need, installed on first use into the environment that runs us, from a lock with hashes."""

from __future__ import annotations

import importlib.util
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from runbook.errors import PreflightError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


class Extra(NamedTuple):
    """One of pyproject's extras: whose it is (`the lab`), what it consists of, how much it loads, and what its lack raises."""

    name: str
    owner: str
    distributions: tuple[str, ...]
    size: str
    error: type[PreflightError] = PreflightError

    @property
    def lock(self) -> Path:
        """Beside the package, in a checkout; a wheel has none, and takes what fits the environment it is in."""
        return Path(__file__).resolve().parents[1] / f"requirements-{self.name}.lock"


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


def ensure(extra: Extra, lock: Path, say: Callable[[str], None]) -> None:
    """Install what is missing from the lock, with hashes. Raises the extra's error where that is not possible."""
    absent = missing(extra.distributions)
    if not absent:
        return
    command = installer(extra, lock)
    say(f"{extra.owner}'s extras are missing ({', '.join(absent)}); installing them, {extra.size}, once")
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    importlib.invalidate_caches()
    if done.returncode or missing(extra.distributions):
        tail = "\n".join((done.stderr or done.stdout).splitlines()[-10:])
        raise extra.error(
            f"{extra.owner}'s extras did not install: {shlex.join(command)} ended with {done.returncode}\n{tail}"
        )


def installer(extra: Extra, lock: Path) -> list[str]:
    """The command that installs a lock: uv where there is one, else pip. Raises where there is neither, or no lock."""
    python, lacking = sys.executable, f"{extra.owner}'s extras are not installed"
    if not lock.is_file():
        wanted = shlex.join([python, "-m", "pip", "install", f"runbook[{extra.name}]"])
        raise extra.error(f"{lacking} ({extra.size}), and there is no {lock.name} here; run: {wanted}")
    uv = shutil.which("uv") or shutil.which("uv", path=str(Path(python).parent))
    if uv:
        return [uv, "pip", "install", "--quiet", "--python", python, "--require-hashes", "-r", str(lock)]
    if importlib.util.find_spec("pip") is None:
        raise extra.error(f"{lacking}, and {python} has no pip (nor is uv on PATH) to install {lock}")
    return [python, "-m", "pip", "install", "--quiet", "--require-hashes", "-r", str(lock)]
