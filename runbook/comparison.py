"""What one look says of every declared flag and launch argument: rows to show, and whether what runs is what was launched."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from runbook import argumenttable, flagtable
from runbook.onhost.masking import mask
from runbook.verdict import Outcome

if TYPE_CHECKING:
    from collections.abc import Iterable

    from runbook.flagtable import Row
    from runbook.model import Host, Observation
    from runbook.verdict import Finding


class Comparison(NamedTuple):
    """`rows` as in `rows`; `launched`: every process was started with the declared arguments as the scripts say them now,
    where that is unknown inconclusive."""

    rows: list[dict[str, Any]]
    launched: tuple[Finding, ...]

    @property
    def holds(self) -> bool:
        """Whether every file and every process is known to be as declared."""
        outcomes = {row["outcome"] for row in self.rows} | {
            finding.outcome.value for finding in self.launched
        }
        return outcomes <= {Outcome.PASS.value}


def of(host: Host, seen: Observation) -> Comparison:
    arguments = argumenttable.rows(host, seen)
    launched = tuple(row.finding("arguments", row.as_launched) for row in arguments)
    return Comparison(_rows(host, seen, arguments), launched)


def rows(host: Host, seen: Observation) -> list[dict[str, Any]]:
    """A row a flag or launch argument and unit: wanted, in the file, running, evidence; who wants it, why and when."""
    return _rows(host, seen, argumenttable.rows(host, seen))


def _rows(host: Host, seen: Observation, arguments: Iterable[argumenttable.Row]) -> list[dict[str, Any]]:
    return [*(_row(row) for row in flagtable.rows(host, seen)), *(row.status() for row in arguments)]


def _row(row: Row) -> dict[str, Any]:
    """One row as JSON values; secrets are masked."""
    values = {"wanted": row.flag.value, "file": row.in_file, "running": row.running}
    return {
        "flag": row.flag.name,
        "unit": row.unit.role,
        **{key: value and mask(row.flag.name, value) for key, value in values.items()},
        "evidence": row.running_kind,
        "outcome": row.outcome.value,
        "why": row.flag.why,
        "owner": row.flag.owner,
        "since": row.flag.since and row.flag.since.isoformat(),
        "expires": row.flag.expires and row.flag.expires.isoformat(),
    }
