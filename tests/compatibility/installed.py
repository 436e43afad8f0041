"""runbook as a wheel lays it, called as an operator calls it in a directory of their own."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tomllib
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

CHECKOUT = Path(__file__).parents[2]
PROGRAM = (sys.executable, "-P", "-m", "runbook")  # -P: as a script in bin/ does not look where it is called


@dataclass(frozen=True)
class Installed:
    """A command that runs it, in a directory, with what it needs of the environment."""

    command: tuple[str, ...]
    directory: Path
    environ: Mapping[str, str] = field(default_factory=dict)

    def run(self, line: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*self.command, *line.split()],
            cwd=self.directory,
            env={**os.environ, **self.environ},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )


def lay(site: Path) -> None:
    """What pyproject.toml puts into the wheel, laid by hand."""
    wheel = tomllib.loads((CHECKOUT / "pyproject.toml").read_text())["tool"]["hatch"]["build"]["targets"][
        "wheel"
    ]
    for source, target in {**{name: name for name in wheel["packages"]}, **wheel["force-include"]}.items():
        _copy(CHECKOUT / source, site / target)


def _copy(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    if source.is_dir():
        shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__"))
    else:
        shutil.copy(source, target)


def built(directory: Path) -> Path:
    """The wheel that `pip wheel` builds of this checkout."""
    pip("wheel", "--no-deps", "--wheel-dir", str(directory), str(CHECKOUT))
    (wheel,) = directory.glob("*.whl")
    return wheel


def from_wheel(wheel: Path, python: str, venv: Path, directory: Path) -> Installed:
    """The wheel in a new environment of this Python, with the very versions of requirements.lock."""
    subprocess.run([python, "-m", "venv", str(venv)], check=True)
    inside = str(venv / "bin" / "python")
    pip("install", "--require-hashes", "-r", str(CHECKOUT / "requirements.lock"), python=inside)
    pip("install", "--no-deps", str(wheel), python=inside)
    return Installed((str(venv / "bin" / "runbook"),), directory)


def run_tests(command: Installed, rooms: Sequence[str], packages: Collection[str], lock: Path) -> None:
    """Run the unit tests of some rooms in its environment, with these packages of requirements-dev.lock added."""
    python = str(Path(command.command[0]).with_name("python"))
    pinned = re.split(r"\n(?=[A-Za-z])", (CHECKOUT / "requirements-dev.lock").read_text())
    lock.write_text("\n".join(entry for entry in pinned if entry.partition("==")[0] in packages) + "\n")
    pip("install", "--require-hashes", "-r", str(lock), python=python)
    pytest = [python, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-m", "not (real or system or heavy)"]
    tested = [*pytest, *(f"tests/{room}" for room in rooms)]
    done = subprocess.run(tested, cwd=CHECKOUT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-4000:]


def pip(*args: str, python: str = sys.executable) -> None:
    command = [python, "-m", "pip", "--quiet", "--disable-pip-version-check", *args]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
