"""What of a host's standing is not well, as findings: what `status` exits by."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from runbook.onhost.environ import UNREADABLE
from runbook.stages import inflight
from runbook.text import counted
from runbook.unsaid import DENIED, GONE
from runbook.verdict import Finding, Outcome

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

Row = dict[str, Any]


def findings(shown: Mapping[str, Any]) -> tuple[Finding, ...]:
    """Of a status (`standing.status`), worst first; none where all is well.

    A unit that is down fails, files and processes that are not as the host file says are drift, an interrupted rollout
    and what nobody can read are inconclusive. That somebody is at work is no finding, nor a flag about to expire.
    """
    parts = (_down, _unreadable, _gone, _drifting, _unapplied, _interrupted, _unknown)
    return tuple(finding for part in parts for finding in part(shown))


def interrupted(shown: Mapping[str, Any]) -> bool:
    """Whether a rollout was left in the middle: while somebody holds the lock it is under way."""
    return bool(shown["inflight"]) and shown["lock"] is None


def untold(shown: Mapping[str, Any]) -> list[Row]:
    """Rows of flags that only repeat that their unit is down, its script gone, or that the login may not read what they tell:
    nothing is known of them."""
    silent = {
        unit["role"] for unit in shown["units"] if not unit["up"] or unit["evidence_says"] == UNREADABLE
    }
    unknown = _of(shown, Outcome.INCONCLUSIVE)
    quiet = [row for row in unknown if row["unit"] in silent or row["file"] == DENIED]
    return [*quiet, *(row for row in _of(shown, Outcome.FAIL) if row["file"] == GONE and not _differs(row))]


def _differs(row: Row) -> bool:
    return bool(row["evidence"] != "unknown" and row["running"] != row["wanted"])


def _down(shown: Mapping[str, Any]) -> Iterator[Finding]:
    for unit in shown["units"]:
        if not unit["up"]:
            outcome = Outcome.FAIL if unit["down"] else Outcome.INCONCLUSIVE
            yield Finding("unit", outcome, f"{unit['role']}: {unit['says']}", {"unit": unit["unit"]})


def _unreadable(shown: Mapping[str, Any]) -> Iterator[Finding]:
    if shown["unreadable"]:
        yield Finding("readable", Outcome.INCONCLUSIVE, shown["unreadable"])


def _gone(shown: Mapping[str, Any]) -> Iterator[Finding]:
    for path in shown["gone"]:
        yield Finding("drift", Outcome.FAIL, f"{path} is gone", {"path": path})
    for said in shown["missing"]:
        yield Finding("drift", Outcome.FAIL, said)


def _drifting(shown: Mapping[str, Any]) -> Iterator[Finding]:
    quiet = untold(shown)
    if rows := [row for row in _of(shown, Outcome.FAIL) if row not in quiet]:
        share = f"{len(rows)} of {counted(len(shown['flags']), 'flag')} {_are(len(rows))}"
        said = f"{share} not as the host file says: {_named(rows)}"
        yield Finding("drift", Outcome.FAIL, said)


def _unapplied(shown: Mapping[str, Any]) -> Iterator[Finding]:
    for row in shown["unapplied"]:
        yield Finding("drift", Outcome(row["outcome"]), row["says"], {"unit": row["unit"]})


def _interrupted(shown: Mapping[str, Any]) -> Iterator[Finding]:
    if interrupted(shown):
        yield Finding("interrupted", Outcome.INCONCLUSIVE, inflight.told(shown["inflight"]))


def _unknown(shown: Mapping[str, Any]) -> Iterator[Finding]:
    quiet = untold(shown)
    if rows := [row for row in _of(shown, Outcome.INCONCLUSIVE) if row not in quiet]:
        said = f"nobody can read what runs of {counted(len(rows), 'flag')}: {_named(rows)}"
        yield Finding("drift", Outcome.INCONCLUSIVE, said)


def _are(number: int) -> str:
    return "is" if number == 1 else "are"


def _of(shown: Mapping[str, Any], outcome: Outcome) -> list[Row]:
    return [row for row in shown["flags"] if row["outcome"] == outcome.value]


def _named(rows: Sequence[Row]) -> str:
    return ", ".join(f"{row['flag']} on {row['unit']}" for row in rows)
