"""The result of a corruption run as a frozen value that crosses the wire as JSON."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from runbook.load.outcome import Finding, Outcome

SCHEMA = 1


@dataclass(frozen=True, slots=True)
class SessionsResult:
    """What a corruption run came to.

    `counts` sum to `sessions`, all that were started. `corrupt` and `infra` are sessions. `finished` leaves out
    those an early stop cancelled, `judged` also those without an answer; `upper_95` is the exact one-sided bound
    of the corrupt share of the judged ones, as a fraction.
    `waves` hold per wave {wave, sessions, corrupt, counts, wall_s}; `by_round` the corrupt sessions by the round
    they went wrong in. `slips` counts sessions with a slip or miscopy, `soft` those with a soft defect. `streams`
    is the path of the raw streams of sessions that were not clean. `details` are further measurements.
    """

    name: str
    outcome: Outcome
    sessions: int
    rounds: int
    counts: Mapping[str, int]
    corrupt: int
    infra: int
    upper_95: float
    wall_s: float
    peak_concurrency: int
    tokens_per_s: float
    lines: tuple[str, ...]
    findings: tuple[Finding, ...]
    waves: tuple[Mapping[str, Any], ...] = ()
    streams: str | None = None
    finished: int = 0
    judged: int = 0
    slips: int = 0
    soft: int = 0
    by_round: Mapping[str, int] = field(default_factory=dict)
    details: Mapping[str, Any] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        return {
            "schema": SCHEMA,
            "kind": "sessions",
            "name": self.name,
            "outcome": self.outcome.value,
            "sessions": self.sessions,
            "rounds": self.rounds,
            "counts": dict(self.counts),
            "corrupt": self.corrupt,
            "infra": self.infra,
            "upper_95": self.upper_95,
            "wall_s": self.wall_s,
            "peak_concurrency": self.peak_concurrency,
            "tokens_per_s": self.tokens_per_s,
            "lines": list(self.lines),
            "findings": [finding.to_json() for finding in self.findings],
            "waves": [dict(wave) for wave in self.waves],
            "streams": self.streams,
            "finished": self.finished,
            "judged": self.judged,
            "slips": self.slips,
            "soft": self.soft,
            "by_round": dict(self.by_round),
            "details": dict(self.details),
        }


def wall_line(wall_s: float, counts: Mapping[str, int]) -> str:
    """`wall=152.8s counts={"maxrounds": 80}`"""
    return f"wall={wall_s:.1f}s counts={json.dumps(dict(counts))}"


def corruption_line(corrupt: int, finished: int, asked: int) -> str:
    """`CORRUPTION sessions: 0/80 = 0%`; a run that was stopped says how many finished instead of a share."""
    if finished < asked:
        return f"CORRUPTION sessions: {corrupt} of {finished} finished, {asked} asked for"
    share = 100.0 * corrupt / asked if asked else 0.0
    return f"CORRUPTION sessions: {corrupt}/{asked} = {share:.3g}%"
