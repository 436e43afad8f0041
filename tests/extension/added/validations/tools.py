"""Tool calls by a program of the engine's own on the host: a line `ok` or `bad` for each session."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from runbook.load.statistics import upper_bound
from runbook.validations import endpoint_url, unjudged

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from runbook.model import Sessions
    from runbook.validations import Jobs


def measure(jobs: Jobs, spec: Sessions, say: Callable[[str, Mapping[str, Any]], None]) -> dict[str, Any]:
    """Run `program` of the host file; fewer lines than sessions are inconclusive."""
    began = time.monotonic()
    argv = [
        "timeout",
        str(spec.timeout_s),
        spec.options["program"],
        endpoint_url(jobs.host),
        str(spec.sessions),
    ]
    ended = jobs.run(argv, lambda line: say(line, {}))
    return judged(unjudged(spec.name, time.monotonic() - began, ended.lines[-20:]), spec.sessions)


def judged(document: dict[str, Any], sessions: int) -> dict[str, Any]:
    counts = {word: document["lines"].count(word) for word in ("ok", "bad")}
    if sum(counts.values()) < sessions:
        return document
    outcome = "fail" if counts["bad"] else "pass"
    bound = upper_bound(counts["bad"], sessions)
    return document | {
        "outcome": outcome, "sessions": sessions, "counts": counts, "corrupt": counts["bad"], "upper_95": bound
    }  # fmt: skip
