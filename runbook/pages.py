"""The actions on a host by name. An action loads what it needs and no more; app does so while the host is being reached."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from runbook.options import Options
    from runbook.story import Story
    from runbook.work import Work

PAGES: Mapping[str, tuple[str, str]] = {
    "plan": ("looking", "plan"),
    "deploy": ("rollout", "deploy"),
    "verify": ("rollout", "check"),
    "validate": ("rollout", "validate"),
    "bench": ("rollout", "bench"),
    "rollback": ("rollout", "rollback"),
    "restart": ("rollout", "restart"),
    "status": ("looking", "status"),
    "logs": ("looking", "logs"),
    "releases": ("looking", "list_releases"),
}


def page(action: str) -> Callable[[Work, Options], Story]:
    """The page of an action, with everything it needs imported."""
    module, name = PAGES[action]
    found: Callable[[Work, Options], Story] = getattr(import_module(f"runbook.{module}"), name)
    return found
