"""Records of sessions for tests of what is concluded from them."""

from __future__ import annotations

from dataclasses import replace

from runbook.load.defects import Defect, Severity
from runbook.load.judgement import GOOD_ENDS, INFRA_ENDS
from runbook.load.story import Record, Seen
from runbook.load.verdict import Conditions

GOOD_CONDITIONS = Conditions(asked=80, peak=80, peak_in_flight=80, wall_s=10.0, client_cpu=0.3)


def record(session: int = 0, end: str = "maxrounds", *, wave: int = 0, status: int = 200) -> Record:
    """A session that ended so; a corruption class brings its hard defect along."""
    corrupt = end not in (*GOOD_ENDS, *INFRA_ENDS)
    seen = (Seen(2, 1, Defect(end, Severity.HARD, "seen", 17)),) if corrupt else ()
    return Record(
        session=session,
        wave=wave,
        end=end,
        corrupt=corrupt,
        detail="",
        seen=seen,
        turns=7,
        tokens=500,
        prompt_tokens=450,
        chunks=500,
        without_usage=0,
        status=status,
        began=1.0,
        ended=9.0,
        served_s=7.9,
    )


def slipped(one: Record, kind: str = "slip", severity: Severity = Severity.RATE) -> Record:
    """The same session with a defect of that severity."""
    return replace(one, seen=(*one.seen, Seen(2, 1, Defect(kind, severity, "seen", 3))))


def records(**ends: int) -> list[Record]:
    """That many sessions of each end."""
    listed = [end for end, count in ends.items() for _ in range(count)]
    return [record(session, end) for session, end in enumerate(listed)]
