"""A validation by the user's own script, judged strictly by the two lines it prints."""

from __future__ import annotations

import json
import re
import time
from typing import TYPE_CHECKING, Any

from runbook.validations import LINE_CHARACTERS, shell, unjudged
from runbook.verdict import Finding, Outcome

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from runbook.model import Command
    from runbook.validations import Jobs

_WALL = re.compile(r"wall=(\d{1,9}(?:\.\d{1,9})?)s counts=(\{.*\})", re.ASCII)
# Bounded, since Python refuses to read a number of more than 4300 digits.
_CORRUPTION = re.compile(r"CORRUPTION sessions: (\d{1,9})/(\d{1,9}) = (\d{1,3}(?:\.\d{1,9})?)%")
EVIDENCE_LINES, EVIDENCE_CHARACTERS = 20, 400
ROUNDED = 1.0
"""Percentage points a script may round or cut off."""


def measure(jobs: Jobs, spec: Command, say: Callable[[str, Mapping[str, Any]], None]) -> dict[str, Any]:
    """Run the script on the host, by `/bin/sh -c` as the host file wrote it, for at most `timeout_s` seconds."""
    started = time.monotonic()
    ended = jobs.run(shell(spec.run, spec.timeout_s), lambda line: say(line[:LINE_CHARACTERS], {}))
    return parse(spec.name, ended.lines, ended.exit, time.monotonic() - started)


def parse(name: str, lines: Sequence[str], status: int, wall_s: float) -> dict[str, Any]:
    """A sessions result document from the last pair of lines; without such a pair, inconclusive."""
    wall, corruption = _last(_WALL, lines), _last(_CORRUPTION, lines)
    document = unjudged(name, wall_s, [line[:EVIDENCE_CHARACTERS] for line in lines[-EVIDENCE_LINES:]])
    problem = _problem(wall, corruption, status)
    if problem or wall is None or corruption is None:
        return document | {
            "findings": [Finding(f"validation:{name}", Outcome.INCONCLUSIVE, problem or "").to_json()]
        }
    corrupt, sessions = int(corruption[1]), int(corruption[2])
    clean = corrupt == 0 and status == 0
    outcome = Outcome.FAIL if corrupt else Outcome.PASS if clean else Outcome.INCONCLUSIVE
    counts = json.loads(wall[2])
    return document | {
        "outcome": outcome.value, "sessions": sessions, "counts": counts, "corrupt": corrupt,
        "upper_95": _upper_95(corrupt, sessions), "wall_s": float(wall[1]),
    }  # fmt: skip


def _problem(wall: re.Match[str] | None, corruption: re.Match[str] | None, status: int) -> str | None:
    """Why the script's output cannot be judged, None where it can."""
    if wall is None or corruption is None:
        return f"the script did not print both `wall=…s counts={{…}}` and `CORRUPTION sessions: a/b = c%` (exit {status})"
    try:
        counts = json.loads(wall[2])
        total = sum(counts.values())
    except (ValueError, AttributeError, TypeError, RecursionError):
        return f"counts is no JSON object of numbers: {wall[2][:80]}"
    corrupt, sessions = int(corruption[1]), int(corruption[2])
    if sessions == 0 or total != sessions or corrupt > sessions or not all(map(_is_count, counts.values())):
        return f"the script's numbers contradict each other: counts sum to {total}, sessions {sessions}, corrupt {corrupt}"
    if abs(float(corruption[3]) - 100 * corrupt / sessions) > ROUNDED:
        return f"the script's numbers contradict each other: {corruption[0][:80]}"
    if corrupt == 0 and counts.get("maxrounds", 0) + counts.get("done", 0) < 0.95 * sessions:
        return f"too few sessions ended well to say anything: {wall[2]}"
    return None


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _last(pattern: re.Pattern[str], lines: Sequence[str]) -> re.Match[str] | None:
    return next((match for line in reversed(lines) if (match := pattern.fullmatch(line.strip()))), None)


def _upper_95(corrupt: int, sessions: int) -> float:
    from runbook.load.statistics import upper_bound

    return upper_bound(corrupt, sessions)
