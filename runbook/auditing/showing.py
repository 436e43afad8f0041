"""audit.show: one record, for people or as it is."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from runbook import app, audit
from runbook.audit import prose
from runbook.auditing.checks import damaged
from runbook.auditing.fetching import fetch_asked

if TYPE_CHECKING:
    from runbook.auditing.asked import Asked


def run(asked: Asked) -> int:
    """Show the record whose id begins as asked, the youngest where no id is said; exit 0. Raises UsageError."""
    fetch_asked(asked)
    record = audit.find(asked.mirrors, asked.id, asked.request.hosts)
    if asked.request.json:
        print(json.dumps(record.document))  # noqa: T201
    view = app.view_of(asked.request)
    for line in damaged(asked, [record]):
        view.say(line)
    for line in prose.lines(record, every_call=asked.request.verbose):
        view.say(line)
    return 0
