"""The audit tasks: list, show, verify, export and report what was recorded. They change nothing on any host."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from runbook import app
from runbook.auditing import exporting, listing, reporting, showing, verifying
from runbook.auditing.asked import asked
from runbook.errors import RunbookError, UsageError
from runbook.request import Request

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from runbook.auditing.asked import Asked

_TASKS: Mapping[str, Callable[[Asked], int]] = {
    "audit.list": listing.run,
    "audit.show": showing.run,
    "audit.verify": verifying.run,
    "audit.export": exporting.run,
    "report": reporting.run,
}


def run(action: str, **given: Any) -> int:
    """Run one audit task as the command line asks for it; returns the exit code."""
    try:
        return _TASKS[action](asked(action, **given))
    except RunbookError as error:
        return _refuse(action, error, given)
    except RecursionError:
        return _refuse(action, UsageError("a record is nested too deeply to be told"), given)
    except OSError as error:
        return _refuse(action, UsageError(f"{error.filename}: {error.strerror}"), given)


def _refuse(action: str, error: RunbookError, given: Mapping[str, Any]) -> int:
    return app.refuse(Request(action, json=given.get("json", False)), error)
