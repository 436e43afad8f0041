"""What comes with runbook besides its code: beside the package in a checkout, inside it where a wheel was installed."""

from __future__ import annotations

from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent
_INSTALLED = _PACKAGE / "_data"  # pyproject.toml, force-include


def is_installed() -> bool:
    """Whether a wheel was installed, so that this is no checkout."""
    return _INSTALLED.is_dir()


def path(name: str) -> Path:
    """The file or directory `name` of the checkout, such as `hosts` or `templates`, or the wheel's copy of it."""
    return (_INSTALLED if is_installed() else _PACKAGE.parent) / name


def shown(name: str) -> str:
    """How a message names it: a person in a checkout stands beside it."""
    return str(path(name)) if is_installed() else name


def command() -> str:
    """What a person types to run a task."""
    return "runbook" if is_installed() else "./invoke"
