"""Other Pythons of this machine: those on PATH that really run, and those pyenv keeps."""

from __future__ import annotations

import functools
import shutil
import subprocess
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

_TELL = "import sys; print('%d.%d' % sys.version_info[:2])"


def needed(version: str) -> str:
    """A Python of this version, such as 3.9; where there is none, the test that asks is skipped and says so."""
    python = found(version)
    if python is None:
        pytest.skip(
            f"no Python {version} here: neither a python{version} on PATH that runs, nor one that pyenv keeps"
        )
    return python


@functools.cache
def found(version: str) -> str | None:
    """A Python of this version, None where there is none."""
    return next((python for python in _candidates(version) if _runs(python, version)), None)


def _candidates(version: str) -> Iterator[str]:
    name = f"python{version}"
    if on_path := shutil.which(name):
        yield on_path  # a shim of pyenv's may lead nowhere
    if pyenv := shutil.which("pyenv"):
        kept = subprocess.run(
            [pyenv, "whence", "--path", name], capture_output=True, text=True, check=False, timeout=30
        )
        yield from kept.stdout.split("\n")[:-1]


def _runs(python: str, version: str) -> bool:
    told = subprocess.run(
        [python, "-I", "-c", _TELL], capture_output=True, text=True, check=False, timeout=30
    )
    return told.returncode == 0 and told.stdout.strip() == version
