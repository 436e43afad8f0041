"""The actions on a host by name. An action loads what it needs and no more, and does so while the host is being reached."""

from __future__ import annotations

import contextlib
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

# What those that ask the service come to once they have looked at the host, in the order in which they do.
_PROBING = ("runbook.tunnel.transport", "runbook.probes.health", "tenacity")
LATER: Mapping[str, tuple[str, ...]] = dict.fromkeys(
    ("deploy", "verify", "validate", "bench", "rollback", "restart"), _PROBING
)


def import_ahead(action: str) -> None:
    """Import an action's page and what it will come to later. What cannot be imported is left to the page to tell."""
    module, _ = PAGES[action]
    for name in (f"runbook.{module}", *LATER.get(action, ()), "runbook.ending"):
        with contextlib.suppress(ImportError, SyntaxError):
            import_module(name)


def page(action: str) -> Callable[[Work, Options], Story]:
    """The page of an action, with everything it needs imported."""
    module, name = PAGES[action]
    found: Callable[[Work, Options], Story] = getattr(import_module(f"runbook.{module}"), name)
    return found
