"""Results and comparisons as lines of text: bars for the eye, figures beside them. Plain strings, no markup."""

from __future__ import annotations

import statistics
from typing import TYPE_CHECKING

from runbook.load.bench.workload import named
from runbook.load.outcome import Outcome

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from runbook.load.bench.comparison import Comparison, Row
    from runbook.load.bench.result import BenchResult, Level

_BAR_WIDTH = 20
_EIGHTHS = " ▏▎▍▌▋▊▉█"


def result_lines(result: BenchResult, *, ascii_only: bool = False, reasons: bool = True) -> list[str]:
    """A line a concurrency: rate with spread and bar, median and p99 latencies, failures; problems below, unless the
    findings that name them too are shown beside the table (no `reasons`)."""
    top = max((_median(level.output_tok_s) for level in result.levels), default=0.0)
    rows = [_level_cells(level, top, ascii_only) for level in result.levels]
    head = [_PLUS_MINUS if ascii_only and title == "±" else title for title in _LEVEL_HEAD]
    problems = [
        f"{named(level.concurrency)}: {problem}" for level in result.levels for problem in level.problems
    ]
    return [
        *_aligned([head, *rows]),
        "latencies in ms, counted from the intended send time; in flight is the mean over a repeat",
        *_goodput(result),
        *_steady(result),
        *_lengths(result),
        *(problems if reasons else ()),
    ]


def stacked_lines(result: BenchResult) -> list[str]:
    """The table of `result_lines` for a narrow terminal: three short lines a concurrency."""
    return [line for level in result.levels for line in _stacked(level)]


def _stacked(level: Level) -> list[str]:
    ttft, itl, e2e = (
        ", p99 ".join(_pair(figures)) for figures in (level.ttft_ms, level.itl_ms, level.e2e_ms)
    )
    rate, requests = _median(level.output_tok_s), _median(level.requests_s)
    return [
        f"{named(level.concurrency)}: {rate:.1f} tok/s, {requests:.2f} req/s, {sum(level.failures.values())} failed",
        f"  p50 of TTFT {ttft}; ITL {itl}",
        f"  p50 of TPOT {_figure(level.tpot_ms.get('p50'))}; e2e {e2e}",
    ]


def comparison_lines(comparison: Comparison, *, ascii_only: bool = False, reasons: bool = True) -> list[str]:
    """A line a concurrency: both rates, ratio with interval and bar, verdict; what holds for all of them below, and what
    an inconclusive row lacks. Without `reasons` findings tell that, but for those that pass, which are not shown."""
    head = ("conc", "before", "after", "ratio", "95 % bounds", "", "sees", "verdict")
    rows = [_row_cells(row, ascii_only) for row in comparison.rows]
    accepted = [f"accepted: {comparison.accept}"] if comparison.accept else []
    told = [reasons or found.outcome is Outcome.PASS for found in comparison.findings()]
    why = [
        row.text(comparison.max_regression)
        for row, here in zip(comparison.rows, told, strict=True)
        if here and row.verdict == "inconclusive"
    ]
    limit = (
        f"a loss of {comparison.max_regression:.0%} is allowed; “sees” is the smallest loss seen 4 times in 5"
    )
    return [
        *_aligned([head, *rows]),
        limit.translate(_PLAIN) if ascii_only else limit,
        *why,
        *accepted,
        comparison.text,
    ]


def bar(share: float, width: int = _BAR_WIDTH, *, ascii_only: bool = False) -> str:
    """A bar that fills `share` of `width` characters, in eighths of one where Unicode may be used."""
    share = min(max(share, 0.0), 1.0)
    if ascii_only:
        return "#" * round(share * width)
    full, rest = divmod(round(share * width * 8), 8)
    return "█" * full + _EIGHTHS[rest].strip()


_LEVEL_HEAD = (
    "conc", "tok/s", "±", "", "req/s", "in flight", "TTFT p50", "p99", "ITL p50", "p99", "TPOT p50", "e2e p50", "p99", "failed",
)  # fmt: skip
_PLUS_MINUS = "+-"
_PLAIN = str.maketrans({"“": '"', "”": '"'})


def _level_cells(level: Level, top: float, ascii_only: bool) -> tuple[str, ...]:
    rate = _median(level.output_tok_s)
    return (
        str(level.concurrency or "-"),
        f"{rate:.1f}",
        f"{_cv(level.output_tok_s):.1%}",
        bar(rate / top if top else 0.0, ascii_only=ascii_only),
        f"{_median(level.requests_s):.2f}",
        f"{level.mean_concurrency:.1f}",
        *_pair(level.ttft_ms),
        *_pair(level.itl_ms),
        _figure(level.tpot_ms.get("p50")),
        *_pair(level.e2e_ms),
        str(sum(level.failures.values())),
    )


def _goodput(result: BenchResult) -> list[str]:
    """Requests a second that met every limit, beside those that were answered at all."""
    if not result.slo:
        return []
    limits = ", ".join(f"{name} {limit:g} ms" for name, limit in result.slo.items())
    shares = ", ".join(
        f"{named(level.concurrency)}: {_median(level.goodput):.2f} of {_median(level.requests_s):.2f}/s"
        for level in result.levels
    )
    return [f"goodput within {limits}: {shares}"]


def _steady(result: BenchResult) -> list[str]:
    """The rate while the peak was in flight, and when that was: a ramp and a drain are in tok/s, but not in this one."""
    windows = ", ".join(
        f"{named(level.concurrency)}: {_median(level.steady_tok_s):.1f} tok/s "
        f"from {level.steady[0]:.1f} to {level.steady[1]:.1f} s"
        for level in result.levels
        if level.steady_tok_s
    )
    return [f"steady, {windows}"] if windows else []


def _lengths(result: BenchResult) -> list[str]:
    """Lengths wanted beside those that usage says, of one level: all have the same."""
    answered = [level for level in result.levels if level.tokens.get("per_request")]
    if not answered:
        return []
    level = answered[-1]
    sent = level.requests - sum(level.failures.values())
    wanted = result.fingerprint
    return [
        f"input {wanted.get('input_tokens')} tokens by {result.input_counted_by}, {(level.tokens.get('prompt') or 0) / sent:.1f} "
        f"a request by usage; output {wanted.get('output_tokens')}, {level.tokens['per_request']:.1f} by usage"
    ]


def _row_cells(row: Row, ascii_only: bool) -> tuple[str, ...]:
    interval = "-" if row.low is None or row.high is None else f"{row.low:.3f} to {row.high:.3f}"
    seen = "-" if row.detectable is None else f"{row.detectable:.1%}"
    return (
        str(row.concurrency or "-"),
        _figure(row.baseline_tok_s),
        _figure(row.current_tok_s),
        "-" if row.ratio is None else f"{row.ratio:.3f}",
        interval,
        bar(row.ratio or 0.0, ascii_only=ascii_only),
        seen,
        verdict_of(row),
    )


def verdict_of(row: Row) -> str:
    """The verdict in a few words; a loss that is seen and allowed is still named one."""
    if row.verdict == "no regression" and row.low is not None:
        return f"{'slower, ' if row.slower else ''}no regression beyond {max(0.0, 1 - row.low):.1%}"
    return row.verdict


def _pair(figures: Mapping[str, float]) -> tuple[str, str]:
    return _figure(figures.get("p50")), _figure(figures.get("p99"))


def _figure(value: float | None) -> str:
    return "-" if value is None else f"{value:.1f}"


def _median(values: Sequence[float]) -> float:
    return statistics.median(values) if values else 0.0


def _cv(values: Sequence[float]) -> float:
    mean = statistics.fmean(values) if values else 0.0
    return statistics.stdev(values) / mean if len(values) > 1 and mean else 0.0


_LEFT = ("", "verdict")


def _aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    """Columns as wide as their widest cell; figures to the right, bars and words to the left."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return [
        "  ".join(
            cell.ljust(width) if title in _LEFT else cell.rjust(width)
            for cell, width, title in zip(row, widths, rows[0], strict=True)
        ).rstrip()
        for row in rows
    ]
