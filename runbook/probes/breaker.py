"""The router's circuit breaker: how long it stays open, and what the router itself says of its workers.

A worker that was killed under chats opens it on both legs; then chat stays 503 for its whole timeout while the workers
are healthy again and the router's `/health` and `/workers` say so too (sglang-router 0.3.2, measured: 61 s).
"""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from runbook.text import clean, one_line

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from runbook.model import Budget

# `--cb-timeout-duration-secs` of sglang-router 0.3.2 and smg 1.13.0 where it is not given.
DEFAULT_S = 60.0
# After the timeout a half-open circuit takes some chats, and health checks their turn, before it closes.
MARGIN_S = 15.0
# Nobody waits longer than this for a circuit by itself: a timeout beyond it is a slip of the keyboard.
LONGEST_S = 1800.0
# No more rows than a person reads, nor more bytes than a table of them has.
_ROWS = 16

_ROUTER = re.compile(r"sglang[_-]router|launch_router|sgl-model-gateway|(?<![\w-])smg(?![\w-])|--cb-")
_TIMEOUT = re.compile(r"--cb-timeout-duration-secs(?:=|\s|\\\n|'|\")+(\d+)(?![\w.])")
_DISABLED = re.compile(r"--disable-circuit-breaker(?![\w-])")
_COMMENT = re.compile(r"^\s*#.*$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Breaker:
    """A router's circuit breaker: once open it lets nothing through for `timeout_s`. `source` says how that is known."""

    timeout_s: float
    source: str

    def outlasted(self, budget: Budget) -> Budget:
        """The budget, with as many more attempts as waiting for an open circuit takes."""
        if not self.timeout_s:
            return budget
        attempts = math.ceil((min(self.timeout_s, LONGEST_S) + MARGIN_S) / budget.every_s) + 1
        return budget._replace(attempts=max(budget.attempts, attempts))

    def told(self, waited_s: float, answer: str) -> str:
        """What a chat's failure means while every worker is healthy, `waited_s` after the first one failed.

        A circuit that is open already stays open no longer for the chats it refuses, so what is left is at most the rest.
        """
        left = self.timeout_s - waited_s
        if left <= 0:
            return f"{answer}; the router's circuit breaker ({self.source}) should have closed by now"
        sure = "" if "circuit" in answer.lower() else "perhaps the "
        return f"{sure}router circuit breaker, {left:.0f} s left at most ({self.source}): {answer}"


def of_router(texts: Iterable[str]) -> Breaker | None:
    """The breaker of a router that these texts start (its ExecStart, its script); None where they start no router."""
    text = "\n".join(_COMMENT.sub("", one) for one in texts)
    if not _ROUTER.search(text):
        return None
    if _DISABLED.search(text):
        return Breaker(0.0, "--disable-circuit-breaker")
    found = _TIMEOUT.findall(text)
    if not found:
        return Breaker(DEFAULT_S, f"its default of {DEFAULT_S:g} s")
    return Breaker(float(found[-1]), f"--cb-timeout-duration-secs {found[-1]}")


def workers(body: bytes) -> list[str]:
    """The router's own worker table, a line a worker, from what `GET /workers` answers; empty where that is no table."""
    try:
        rows = json.loads(body)["workers"]
    except (ValueError, LookupError, TypeError, RecursionError):
        return []
    rows = [row for row in rows if isinstance(row, dict)] if isinstance(rows, list) else []
    return [_row(row) for row in rows[:_ROWS]]


def _row(row: Mapping[str, Any]) -> str:
    health = "healthy" if row.get("is_healthy") is True else "not healthy"
    line = f"{row.get('worker_type') or 'worker'} {row.get('url')} {health}, load {row.get('load')}"
    return one_line(clean(line), 200)
