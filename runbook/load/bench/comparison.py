"""Two bench results against each other: how much slower, how sure, and whether that is too much.

Three answers per concurrency. *regression*: the whole interval of current / baseline lies below 1 − max_regression.
*no regression beyond X*: the whole interval lies above it, and X is the loss its lower end still allows.
*inconclusive*: the interval holds the limit, or there is no interval, or one of the runs proves nothing.
"""

from __future__ import annotations

import re
import statistics
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Literal

from runbook.load.bench.fingerprint import FingerprintMismatch, differences
from runbook.load.bench.interval import START_CV, RatioInterval, ratio_interval
from runbook.load.bench.workload import named
from runbook.load.outcome import Finding, Outcome, worst

if TYPE_CHECKING:
    from collections.abc import Collection

    from runbook.load.bench.result import BenchResult, Level

Verdict = Literal["regression", "no regression", "inconclusive"]
_SAME_LENGTH = 0.05
# Its own findings say why (`judge.findings`), and say it once.
NOT_SOUND = "this run by itself is not sound"
SINGLE_STARTS = f"both arms are single server starts; every interval allows for {START_CV:.1%} of variation between starts"


@dataclass(frozen=True, slots=True)
class Row:
    """One concurrency. Rates in output tok/s (medians of the repeats); bounds and `detectable` None: no interval.

    `why` says what an inconclusive row lacks. `sound` is false where the runs themselves prove nothing.
    """

    concurrency: int
    baseline_tok_s: float | None
    current_tok_s: float | None
    ratio: float | None
    low: float | None
    high: float | None
    detectable: float | None
    verdict: Verdict
    why: str = ""
    sound: bool = True

    @property
    def slower(self) -> bool:
        """Whether a loss was seen at all: the interval excludes 1."""
        return self.high is not None and self.high < 1

    @property
    def faster(self) -> bool:
        return self.low is not None and self.low > 1

    def text(self, max_regression: float) -> str:
        """The row in words, with both numbers."""
        where = named(self.concurrency)
        if self.ratio is None or self.low is None or self.high is None:
            return f"{where}: inconclusive, {self.why}"
        figures = (
            f"{self.current_tok_s:.1f} against {self.baseline_tok_s:.1f} tok/s, "
            f"ratio {self.ratio:.3f} [{self.low:.3f}, {self.high:.3f}]"
        )
        if self.verdict == "regression":
            return f"{where}: regression, {figures}, at most {max_regression:.0%} may be lost"
        if self.verdict == "no regression":
            return f"{where}: no regression beyond {max(0.0, 1 - self.low):.1%}, {figures}"
        return f"{where}: inconclusive, {figures}, {self.why}"


@dataclass(frozen=True, slots=True)
class Comparison:
    """The rows of the concurrencies both results have; `not_compared` are those only one has."""

    rows: tuple[Row, ...]
    max_regression: float
    accept: str | None = None
    not_compared: tuple[int, ...] = ()

    @property
    def outcome(self) -> Outcome:
        return worst(finding.outcome for finding in self.findings())

    @property
    def text(self) -> str:
        """What holds for all rows."""
        lacking = ", ".join(str(level) for level in self.not_compared)
        return SINGLE_STARTS + (
            f"; not compared, only in one of them: concurrency {lacking}" if lacking else ""
        )

    def findings(self) -> list[Finding]:
        """One finding a concurrency. An accepted cost passes and says so."""
        return [self._finding(row) for row in self.rows]

    def to_json(self) -> dict[str, Any]:
        return {
            "outcome": self.outcome.value,
            "max_regression": self.max_regression,
            "accept": self.accept,
            "rows": [{**asdict(row), "slower": row.slower, "faster": row.faster} for row in self.rows],
            "not_compared": list(self.not_compared),
            "text": self.text,
        }

    def _finding(self, row: Row) -> Finding:
        outcome, message = _OUTCOMES[row.verdict], row.text(self.max_regression)
        if self.accept and row.sound and row.verdict != "no regression":
            loss = accepted_loss(self.accept)
            outcome = outcome if _beyond(row, loss) else Outcome.PASS
            message = f"{message}; {_size(loss)} is accepted: {self.accept}"
        return Finding("bench", outcome, message, {**asdict(row), "accept": self.accept})


def accepted_loss(accept: str) -> float | None:
    """The loss that a declared reason names, as `overlap off costs ≤ 8 %`: 0.08; None where it names none.

    `≤` or `<=` say it, or where neither stands `at most` and `up to`. Of several the smallest counts, of `8 to 12 %` its
    end. Without one, any loss is accepted; the finding says how the reason was read.
    """
    found = _SIGNED.findall(accept) or _WORDED.findall(accept)
    return min(float((end or number).replace(",", ".")) for number, end in found) / 100 if found else None


def _beyond(row: Row, loss: float | None) -> bool:
    """As with the gate itself, only an interval that lies wholly beyond the accepted loss is too much."""
    return loss is not None and row.high is not None and row.high < 1 - loss


def _size(loss: float | None) -> str:
    return "any loss" if loss is None else f"a loss of up to {100 * loss:g} %"


_NUMBER = r"\d*[.,]?\d+"
_PERCENT = (
    r"[\s:~≈]*(?:(?:about|ca\.?|roughly)\s+)?"
    rf"({_NUMBER})\s*[%％]?(?:\s*(?:[-–]|to\b|or\b)\s*({_NUMBER}))?\s*(?:(?<=[%％])|[%％]|percent\b)"
)
_SIGNED = re.compile(rf"(?:≤|<=){_PERCENT}", re.IGNORECASE)
_WORDED = re.compile(rf"\b(?:at\s+most|up\s+to){_PERCENT}", re.IGNORECASE)
_OUTCOMES = {
    "regression": Outcome.FAIL,
    "no regression": Outcome.PASS,
    "inconclusive": Outcome.INCONCLUSIVE,
}


def compare(
    baseline: BenchResult,
    current: BenchResult,
    *,
    max_regression: float,
    accept: str | None = None,
    expected: Collection[str] = (),
) -> Comparison:
    """Compare output tok/s per concurrency; the intervals hold 95 % together.

    `max_regression` 0.10 lets the rate fall to 0.90 of the baseline. `accept` is a declared reason that lets a loss
    pass, also one whose interval holds the limit, but none beyond the loss it names (`accepted_loss`); it never lets an
    unsound measurement pass.
    Raises FingerprintMismatch naming what differs beside the keys of the fingerprint that are `expected` to.
    """
    if unlike := differences(baseline.fingerprint, current.fingerprint, expected):
        raise FingerprintMismatch(unlike)
    before = {level.concurrency: level for level in baseline.levels}
    now = {level.concurrency: level for level in current.levels}
    common = sorted(before.keys() & now.keys())
    if not common:
        raise FingerprintMismatch((f"concurrency: baseline {sorted(before)}, now {sorted(now)}",))
    rows = tuple(_row(before[level], now[level], len(common), max_regression) for level in common)
    return Comparison(rows, max_regression, accept or None, tuple(sorted(before.keys() ^ now.keys())))


def _row(baseline: Level, current: Level, family: int, max_regression: float) -> Row:
    problems = [
        *(f"baseline: {text}" for text in baseline.problems),
        *([NOT_SOUND] if current.problems else []),
        *_lengths(baseline, current),
    ]
    rates = (baseline.output_tok_s, current.output_tok_s)
    if any(not arm or min(arm) <= 0 for arm in rates):
        return _unsound(current.concurrency, "; ".join(problems) or "a repeat without a single token")
    interval = ratio_interval(*rates, family=family)
    verdict, why = judge(interval, max_regression)
    if problems:
        verdict, why = "inconclusive", "; ".join(problems)
    return Row(
        current.concurrency,
        statistics.median(baseline.output_tok_s),
        statistics.median(current.output_tok_s),
        interval.ratio,
        interval.low,
        interval.high,
        interval.detectable,
        verdict,
        why,
        sound=not problems and interval.low is not None,
    )


def judge(interval: RatioInterval, max_regression: float) -> tuple[Verdict, str]:
    """The answer of one interval, and what an inconclusive one lacks. The gate fires on the interval, not the point."""
    limit = 1 - max_regression
    if interval.low is None or interval.high is None:
        return "inconclusive", "one repeat in an arm gives no interval; run at least 3, better 5"
    if interval.high < limit:
        return "regression", ""
    if interval.low >= limit:
        return "no regression", ""
    return "inconclusive", f"the interval holds the limit {limit:.2f}; more repeats narrow it"


def _unsound(concurrency: int, why: str) -> Row:
    return Row(concurrency, None, None, None, None, None, None, "inconclusive", why, sound=False)


def _lengths(baseline: Level, current: Level) -> list[str]:
    """Outputs of other lengths are other work: a server that does not hold the asked length must hold its own."""
    before, now = (level.tokens.get("per_request") for level in (baseline, current))
    if not before or not now or abs(now / before - 1) <= _SAME_LENGTH:
        return []
    return [f"output lengths differ: {now:.0f} tokens a request against {before:.0f}"]
