"""The actions on a host by name, with everything they need imported: what app loads while the host is being reached."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runbook import rollout
from runbook.edits import serve_script as serve_script

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from runbook.options import Options
    from runbook.story import Story
    from runbook.work import Work

PAGES: Mapping[str, Callable[[Work, Options], Story]] = {
    "plan": rollout.plan,
    "deploy": rollout.deploy,
    "verify": rollout.check,
    "validate": rollout.validate,
    "rollback": rollout.rollback,
    "status": rollout.status,
    "releases": rollout.list_releases,
}
