"""The bench result: a fingerprint of what was measured, and per concurrency what came out."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from runbook.load.bench.shape import require_fingerprint, require_level, require_slo
from runbook.load.outcome import Finding, Outcome

if TYPE_CHECKING:
    from collections.abc import Mapping

SCHEMA = 1
CLIENT = "runbook bench 1"  # raised when a definition changes, so that old baselines are refused


class ResultError(ValueError):
    """A document that is no bench result."""


@dataclass(frozen=True, slots=True)
class Level:
    """One concurrency (0: no limit). Rates hold one value a repeat; latencies are {"mean", "p50", …} in milliseconds.

    `steady` is the first repeat's window in seconds after its first send, `client` the busiest repeat's CPU share and
    the lag over all; `problems` says why the level proves nothing, and is empty where it does.
    """

    concurrency: int
    output_tok_s: tuple[float, ...]
    requests: int
    failures: Mapping[str, int] = field(default_factory=dict)
    ttft_ms: Mapping[str, float] = field(default_factory=dict)
    itl_ms: Mapping[str, float] = field(default_factory=dict)
    itl_request_ms: Mapping[str, float] = field(default_factory=dict)
    tpot_ms: Mapping[str, float] = field(default_factory=dict)
    e2e_ms: Mapping[str, float] = field(default_factory=dict)
    total_tok_s: tuple[float, ...] = ()
    requests_s: tuple[float, ...] = ()
    steady_tok_s: tuple[float, ...] = ()
    goodput: tuple[float, ...] = ()
    steady: tuple[float, float] = (0.0, 0.0)
    mean_concurrency: float = 0.0
    peak_concurrency: int = 0
    tokens: Mapping[str, float | None] = field(default_factory=dict)
    client: Mapping[str, float] = field(default_factory=dict)
    problems: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        return dataclasses.asdict(self)

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> Level:
        """Unknown keys are passed over, so that a newer release's document can be read. Raises ValueError."""
        require_level(document)
        known = {f.name for f in dataclasses.fields(cls)}
        values: dict[str, Any] = {
            key: tuple(value) if isinstance(value, list) else value
            for key, value in document.items()
            if key in known
        }
        return cls(**values)


@dataclass(frozen=True, slots=True)
class BenchResult:
    """One bench. `requests_file` names the side file that holds every request, if one was written.

    `input_counted_by` is tokenizer (exact, before the chat template) or estimate (corrected by the server's usage).
    """

    fingerprint: Mapping[str, Any]
    levels: tuple[Level, ...]
    findings: tuple[Finding, ...]
    outcome: Outcome
    wall_s: float
    started_at: str = ""
    slo: Mapping[str, float] = field(default_factory=dict)
    requests_file: str | None = None
    input_counted_by: str = "estimate"

    def to_json(self) -> dict[str, Any]:
        return {
            "schema": SCHEMA,
            "kind": "bench",
            "outcome": self.outcome.value,
            "fingerprint": dict(self.fingerprint),
            "levels": [level.to_json() for level in self.levels],
            "findings": [finding.to_json() for finding in self.findings],
            "wall_s": self.wall_s,
            "started_at": self.started_at,
            "slo": dict(self.slo),
            "requests_file": self.requests_file,
            "input_counted_by": self.input_counted_by,
        }

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> BenchResult:
        """Raises ResultError naming what is missing or wrong."""
        if document.get("kind") != "bench" or document.get("schema") != SCHEMA:
            found = {key: document.get(key) for key in ("kind", "schema")}
            raise ResultError(f"should be a bench result of schema {SCHEMA}, found {found}")
        try:
            require_fingerprint(document["fingerprint"])
            require_slo(document.get("slo", {}))
            return cls(
                fingerprint=dict(document["fingerprint"]),
                levels=tuple(Level.from_json(level) for level in document["levels"]),
                findings=tuple(Finding.from_json(finding) for finding in document["findings"]),
                outcome=Outcome(document["outcome"]),
                wall_s=float(document["wall_s"]),
                started_at=str(document.get("started_at", "")),
                slo=dict(document.get("slo", {})),
                requests_file=document.get("requests_file"),
                input_counted_by=str(document.get("input_counted_by", "estimate")),
            )
        except KeyError as error:
            raise ResultError(f"not a whole bench result: no {error.args[0]}") from error
        except (AttributeError, TypeError, ValueError, OverflowError) as error:
            raise ResultError(f"not a whole bench result: {error}") from error
