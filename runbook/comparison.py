"""What one look says of every declared flag and launch argument: rows to show, and whether what runs is what was launched."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from runbook import argumenttable, flagtable
from runbook.onhost.masking import mask
from runbook.verdict import Outcome

if TYPE_CHECKING:
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
    launched = (row.finding("arguments", row.as_launched) for row in argumenttable.rows(host, seen))
    return Comparison(rows(host, seen), tuple(launched))


def rows(host: Host, seen: Observation) -> list[dict[str, Any]]:
    """A row a flag or launch argument and unit: wanted, in the file, running, evidence; who wants it, why and until when."""
    arguments = [row.status() for row in argumenttable.rows(host, seen)]
    return [*(_row(row) for row in flagtable.rows(host, seen)), *arguments]


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
        "expires": row.flag.expires and row.flag.expires.isoformat(),
    }
