"""From the records of a run to its verdict: counts, findings, outcome. Pure.

PASS needs no corrupt session and no infra failure (settable), good ends ≥ 95 %, budget and notool together ≤ 5 %,
the concurrency that was asked for, and a client that kept up. 80 time-outs are "0 % corrupt" and prove nothing.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from runbook.load.defects import Severity
from runbook.load.judgement import DECLINED_ENDS, GOOD_ENDS, INFRA_ENDS
from runbook.load.outcome import Finding, Outcome
from runbook.load.statistics import rising_trend, upper_bound

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from runbook.load.story import Record

GOOD_SHARE = 0.95
DECLINED_SHARE = 0.05
ALLOWED_SLIPS = 1
TREND = 0.05
SHOWN = 20
"""Findings carry the evidence of at most so many sessions; the rest is in the streams file."""


@dataclass(frozen=True, slots=True)
class Conditions:
    """How the run was: what was asked for, what was reached, and whether the client or the server gave out.

    `asked` sessions at once; `peak` streams that ran at once; `client_cpu` is the share of one core, `lag_p99_s`
    how late the client's loop ran, `gap_median_s` between chunks. `peak_running` is the server's own count, where
    it has one; `first_byte_s` the median and the 99th percentile of a request. `died` says why the server is taken for dead.
    `turns` a session has to its end. `lost` says why raw streams were not kept.
    """

    asked: int
    peak: int
    peak_in_flight: int
    wall_s: float
    client_cpu: float
    lag_p99_s: float | None = None
    gap_median_s: float | None = None
    peak_running: float | None = None
    first_byte_s: tuple[float | None, float | None] = (None, None)
    died: str = ""
    max_infra: int = 0
    min_concurrency: float = 0.5
    max_client_cpu: float = 0.8
    stopped: bool = False
    turns: int = 0
    lost: str = ""


def findings(records: Sequence[Record], conditions: Conditions) -> tuple[Finding, ...]:
    """Every conclusion about the run; those that pass are there too, with their numbers.

    Of a run that corruption ended early, what is only open because it ended early is left out.
    """
    found = [
        _corruption(records, conditions),
        *_died(conditions),
        _infra(records, conditions),
        _ends(records),
        *_declined(records),
        *_early(records, conditions),
        _concurrency(conditions),
        _client(records, conditions),
        _copying(records),
        *_trend(records),
        *_lost(conditions),
    ]
    ended_early = conditions.stopped and found[0].outcome is Outcome.FAIL
    return tuple(one for one in found if not (ended_early and _is_open_for_that(one)))


def _is_open_for_that(finding: Finding) -> bool:
    """What a few sessions and a second or two cannot show: most sessions' ends, and whether the client would keep up."""
    return finding.check in ("ends", "client") and finding.outcome is Outcome.INCONCLUSIVE


def counts(records: Sequence[Record]) -> dict[str, int]:
    """Sessions by how they ended, most frequent first; the counts sum to the sessions."""
    return dict(Counter(record.end for record in records).most_common())


def with_severity(records: Sequence[Record], severity: Severity) -> list[Record]:
    """Sessions that have a defect of that severity."""
    return [r for r in records if any(seen.defect.severity is severity for seen in r.seen)]


def infra_ends(records: Sequence[Record]) -> list[Record]:
    """Sessions that ended without an answer to judge, those an early stop cancelled apart."""
    return [record for record in records if record.end in INFRA_ENDS and record.end != "cancelled"]


def finished(records: Sequence[Record]) -> list[Record]:
    """Sessions that an early stop did not cancel."""
    return [record for record in records if record.end != "cancelled"]


def judged(records: Sequence[Record]) -> list[Record]:
    """Sessions that were answered to a good or a corrupt end: only these say anything about corruption."""
    return [record for record in records if record.end not in INFRA_ENDS]


def evidence(record: Record) -> dict[str, Any]:
    """What the findings keep of a session: the class, and every defect with turn, round and byte offset."""
    defects = [{"turn": seen.turn, "round": seen.round, **seen.defect.to_json()} for seen in record.seen[:10]]
    return {
        "session": record.session,
        "wave": record.wave,
        "end": record.end,
        "detail": record.detail,
        "defects": defects,
    }


def by_wave(records: Sequence[Record]) -> list[dict[str, Any]]:
    """Per wave: sessions, corrupt ones, counts, seconds."""
    waves = sorted({record.wave for record in records})
    return [_wave(number, [r for r in records if r.wave == number]) for number in waves]


def by_round(records: Sequence[Record]) -> dict[str, int]:
    """Corrupt sessions by the round of their first hard or soft defect."""
    rounds = Counter(
        next((s.round for s in record.seen if s.defect.severity is not Severity.RATE), 0)
        for record in records
        if record.corrupt
    )
    return {str(number): rounds[number] for number in sorted(rounds)}


def _wave(number: int, records: Sequence[Record]) -> dict[str, Any]:
    return {
        "wave": number + 1,
        "sessions": len(records),
        "corrupt": sum(record.corrupt for record in records),
        "counts": counts(records),
        "wall_s": round(max(r.ended for r in records) - min(r.began for r in records), 3),
    }


def _corruption(records: Sequence[Record], conditions: Conditions) -> Finding:
    done = judged(records)
    corrupt = [record for record in records if record.corrupt]
    bound = upper_bound(len(corrupt), len(done))
    if corrupt:
        kinds = ", ".join(f"{kind} {count}" for kind, count in counts(corrupt).items())
        message = f"{len(corrupt)} of {len(done)} judged sessions corrupt ({kinds})"
        # Corrupt sessions end sooner than good ones: those judged before an early stop are no sample of them all.
        if not conditions.stopped and len(corrupt) < len(done):
            message += f"; at most {bound:.2%} at 95 %"
        shown = [evidence(record) for record in corrupt[:SHOWN]]
        return Finding("corruption", Outcome.FAIL, message, {"sessions": shown})
    message = (
        f"0 of {len(done)} judged sessions corrupt: the true rate is at most {bound:.2%} at 95 % confidence"
    )
    return Finding("corruption", Outcome.PASS if done else Outcome.INCONCLUSIVE, message)


def _died(conditions: Conditions) -> Iterator[Finding]:
    if conditions.died:
        yield Finding("alive", Outcome.FAIL, f"the server died under the load: {conditions.died}")


def _infra(records: Sequence[Record], conditions: Conditions) -> Finding:
    failed = infra_ends(records)
    kinds = ", ".join(
        f"{_named(end)} {count}" for end, count in Counter(map(_infra_kind, failed)).most_common()
    )
    message = (
        f"{len(failed)} of {len(records)} sessions failed without an answer, {conditions.max_infra} allowed"
    )
    outcome = Outcome.PASS if len(failed) <= conditions.max_infra else Outcome.INCONCLUSIVE
    shown = [evidence(record) for record in failed[:SHOWN]]
    return Finding("infra", outcome, f"{message}: {kinds}" if kinds else message, {"sessions": shown})


def _infra_kind(record: Record) -> tuple[str, int]:
    return record.end, record.status if record.end == "error" else 0


def _named(kind: tuple[str, int]) -> str:
    end, status = kind
    return f"{end} (HTTP {status})" if status else end


def _ends(records: Sequence[Record]) -> Finding:
    done = finished(records)
    good = sum(record.end in GOOD_ENDS for record in done)
    enough = bool(done) and good >= GOOD_SHARE * len(done)
    message = f"{good} of {len(done)} sessions came to a good end, {GOOD_SHARE:.0%} wanted"
    return Finding("ends", Outcome.PASS if enough else Outcome.INCONCLUSIVE, message)


def _declined(records: Sequence[Record]) -> Iterator[Finding]:
    declined = [record for record in records if record.end in DECLINED_ENDS]
    if not declined:
        return
    kinds = counts(declined)
    message = f"{len(declined)} of {len(records)} sessions ended as {kinds}, {DECLINED_SHARE:.0%} allowed"
    if kinds.get("notool") == len(records):
        message += "; no session saw a tool call: does the server parse tool calls?"
    few = len(declined) <= DECLINED_SHARE * len(records)
    yield Finding("declined", Outcome.PASS if few else Outcome.INCONCLUSIVE, message)


def _early(records: Sequence[Record], conditions: Conditions) -> Iterator[Finding]:
    """Sessions whose model went to `finish` before its turn: what it did not copy was not compared."""
    early = [record for record in records if record.end == "done" and record.turns < conditions.turns]
    if not early:
        return
    message = (
        f"{len(early)} of {len(records)} sessions finished before all rounds, {DECLINED_SHARE:.0%} allowed"
    )
    few = len(early) <= DECLINED_SHARE * len(records)
    yield Finding("early", Outcome.PASS if few else Outcome.INCONCLUSIVE, message)


def _lost(conditions: Conditions) -> Iterator[Finding]:
    if conditions.lost:
        message = f"raw streams of unclean sessions could not be kept: {conditions.lost}"
        yield Finding("streams", Outcome.INCONCLUSIVE, message)


def _concurrency(conditions: Conditions) -> Finding:
    wanted = conditions.min_concurrency * conditions.asked
    message = (
        f"{conditions.peak} streams ran at once (in flight {conditions.peak_in_flight}), "
        f"{conditions.asked} asked for, {wanted:g} needed"
    )
    if conditions.peak_running is not None:
        message += f"; the server says {conditions.peak_running:g} ran"
    reached = max(conditions.peak, conditions.peak_running or 0) >= wanted or conditions.stopped
    return Finding("concurrency", Outcome.PASS if reached else Outcome.INCONCLUSIVE, message)


def client_wait(records: Sequence[Record]) -> float:
    """Share of the sessions' time in which no request of theirs was with the server: our judging, our late loop."""
    done = finished(records)
    whole = sum(record.ended - record.began for record in done)
    return max(0.0, 1.0 - sum(record.served_s for record in done) / whole) if whole else 0.0


def _client(records: Sequence[Record], conditions: Conditions) -> Finding:
    """Whether this client, not the server, set the pace: then the server saw another load than was asked for."""
    lag, gap, wait = conditions.lag_p99_s, conditions.gap_median_s, client_wait(records)
    may_wait = 1.0 - conditions.min_concurrency
    message = (
        f"client used {conditions.client_cpu:.0%} of a core, {conditions.max_client_cpu:.0%} allowed; sessions waited "
        f"for it {wait:.0%} of their time, {may_wait:.0%} allowed"
    )
    if lag is not None and gap is not None:
        message += (
            f"; its loop was late by {1e3 * lag:.1f} ms (p99), median gap between chunks {1e3 * gap:.1f} ms"
        )
    bound = conditions.client_cpu > conditions.max_client_cpu or wait > may_wait
    return Finding("client", Outcome.INCONCLUSIVE if bound else Outcome.PASS, message)


def _copying(records: Sequence[Record]) -> Finding:
    """Slips, miscopies, soft defects: one session is reported, more of them only mean something beside a control arm."""
    copied, done = with_severity(records, Severity.RATE), judged(records)
    soft = with_severity(records, Severity.SOFT)
    message = (
        f"{len(copied)} of {len(done)} sessions with slips or miscopies, {len(soft)} with soft defects, {ALLOWED_SLIPS} "
        "allowed of each without a control arm"
    )
    few = max(len(copied), len(soft)) <= ALLOWED_SLIPS
    outcome = Outcome.PASS if few else Outcome.INCONCLUSIVE
    shown = [evidence(record) for record in [*copied, *soft][:SHOWN]]
    return Finding("copying", outcome, message, {"sessions": shown} if shown else {})


def _trend(records: Sequence[Record]) -> Iterator[Finding]:
    waves = by_wave(records)
    corrupt, sizes = [w["corrupt"] for w in waves], [w["sessions"] for w in waves]
    if len(waves) > 1 and sum(corrupt):
        chance = rising_trend(corrupt, sizes)
        message = f"corrupt sessions by wave {corrupt}: p = {chance:.2g} for no rise"
        if chance < TREND:
            message += "; the rate rises with load, so a pooled rate would say too little"
        yield Finding("trend", Outcome.FAIL if chance < TREND else Outcome.PASS, message)
