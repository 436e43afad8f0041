"""Curves as SVG that takes its colours from the page: throughput and latency against the baseline, outcomes over time."""

from __future__ import annotations

import io
import re
import statistics
from typing import TYPE_CHECKING, Any

from runbook.charset import spelled_out
from runbook.load.judgement import DECLINED_ENDS, DONE_ENDS, INFRA_ENDS
from runbook.report.reading import number, numbers, rows, table, text

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from matplotlib.axes import Axes

# Colours nobody would choose, each put in place of a CSS variable: so one drawing serves light, dark and print.
_INK, _BEFORE, _AFTER = "#010203", "#010204", "#010205"
_GOOD, _BAD, _LOST = "#010206", "#010207", "#010208"
_VARIABLES = {
    _INK: "var(--ink)", _BEFORE: "var(--before)", _AFTER: "var(--after)",
    _GOOD: "var(--pass)", _BAD: "var(--fail)", _LOST: "var(--warn)",
}  # fmt: skip
_STYLE: dict[str, Any] = {
    "svg.fonttype": "none", "font.family": "sans-serif", "font.size": 9, "text.parse_math": False,
    "text.color": _INK, "axes.edgecolor": _INK, "axes.labelcolor": _INK, "xtick.color": _INK, "ytick.color": _INK,
    "axes.spines.top": False, "axes.spines.right": False, "axes.facecolor": "none", "legend.frameon": False,
}  # fmt: skip
OTHERS = "others"
INCHES = (4.4, 3.0)
# Ways a session ends that are as it should be, and those that say nothing about the model's words.
WELL = frozenset(DONE_ENDS)
LOST = frozenset((*DECLINED_ENDS, *INFRA_ENDS))
MOST_LEVELS = 50
# As many as a legend has room for; a load generator knows some twenty, and a run sees few of them.
MOST_ENDS = 12


def available() -> bool:
    """Whether there is a matplotlib to draw with."""
    import importlib.util

    return importlib.util.find_spec("matplotlib") is not None


def of_bench(bench: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Title and SVG each: tok/s, time to first token and inter-token latency over concurrency."""
    arms = {
        "before": rows(table(bench, "baseline"), "levels"),
        "after": rows(table(bench, "result"), "levels"),
    }
    if not arms["after"]:
        return []
    return [
        ("output tok/s, median and range of the repeats", _drawn("rates", lambda axes: _rates(axes, arms))),
        (
            "time to first token, ms: median and p99",
            _drawn("ttft", lambda axes: _latency(axes, arms, "ttft_ms")),
        ),
        ("between tokens, ms: median and p99", _drawn("itl", lambda axes: _latency(axes, arms, "itl_ms"))),
    ]


def of_course(run: Mapping[str, Any]) -> str | None:
    """A validation's sessions by how they ended, over the seconds of the run; None where nothing was counted on the way."""
    counted = [
        (at, table(sample, "counts"))
        for sample in rows(run, "over_time")
        if (at := number(sample.get("at_s"))) is not None
    ]
    if not counted:
        return None
    end = max(number(run.get("wall_s")) or 0.0, *(at for at, _ in counted))
    points = [(0.0, {}), *sorted(counted, key=lambda point: point[0]), (end, table(run, "counts"))]
    return _drawn(f"course {text(run.get('name'))}", lambda axes: _course(axes, points))


def _drawn(salt: str, draw: Callable[[Axes], None]) -> str:
    """One drawing as an `<svg>` element; `salt` keeps its ids apart from those of others on the page."""
    import matplotlib
    from matplotlib.figure import Figure

    out = io.StringIO()
    style: Any = {**_STYLE, "svg.hashsalt": salt}
    with matplotlib.rc_context(style):
        figure = Figure(figsize=INCHES, layout="tight")
        figure.patch.set_visible(False)
        draw(figure.add_subplot())
        figure.savefig(out, format="svg", metadata={"Date": None, "Creator": None})
    return _inlined(out.getvalue(), re.sub(r"\W+", "-", salt))


def _inlined(svg: str, prefix: str) -> str:
    """Without the XML prologue, ids apart from other drawings', colours from the page's variables."""
    body = svg[svg.index("<svg") :]
    body = re.sub(r'(id="|href="#|url\(#)', rf"\g<1>{prefix}-", body)
    for colour, variable in _VARIABLES.items():
        body = body.replace(colour, variable)
    return re.sub(r'<svg ([^>]*?)width="[^"]+" height="[^"]+"', r"<svg \1", body, count=1)


def _rates(axes: Axes, arms: Mapping[str, Sequence[Mapping[str, Any]]]) -> None:
    for arm, colour in (("before", _BEFORE), ("after", _AFTER)):
        found = [(level, numbers(level, "output_tok_s")) for level in arms[arm][:MOST_LEVELS]]
        points = [(_concurrency(level), rates) for level, rates in found if rates]
        middles = [statistics.median(rates) for _, rates in points]
        spread = [
            [middle - min(rates) for middle, (_, rates) in zip(middles, points, strict=True)],
            [max(rates) - middle for middle, (_, rates) in zip(middles, points, strict=True)],
        ]
        names = [name for name, _ in points]
        if points:
            axes.errorbar(names, middles, yerr=spread, color=colour, marker="o", capsize=3, label=arm)
    _finish(axes, "concurrency", "tok/s")


def _latency(axes: Axes, arms: Mapping[str, Sequence[Mapping[str, Any]]], key: str) -> None:
    for arm, colour in (("before", _BEFORE), ("after", _AFTER)):
        for quantile, line in (("p50", "-"), ("p99", "--")):
            found = [
                (_concurrency(level), number(table(level, key).get(quantile)))
                for level in arms[arm][:MOST_LEVELS]
            ]
            points = [(name, value) for name, value in found if value is not None]
            if points:
                names, values = zip(*points, strict=True)
                axes.plot(names, values, color=colour, linestyle=line, marker="o", label=f"{arm} {quantile}")
    _finish(axes, "concurrency", "ms")


def _course(axes: Axes, points: Sequence[tuple[float, Mapping[str, Any]]]) -> None:
    ends = list(dict.fromkeys(end for _, counts in points for end in counts))
    ends.sort(key=lambda end: (end not in WELL, end in LOST))
    if len(ends) > MOST_ENDS:
        points = [(at, _fewer(counts, ends[: MOST_ENDS - 1])) for at, counts in points]
        ends = [*ends[: MOST_ENDS - 1], OTHERS]
    times = [at for at, _ in points]
    series = [[number(counts.get(end)) or 0.0 for _, counts in points] for end in ends]
    if series:
        axes.stackplot(times, series, labels=[_label(text(end)) for end in ends], colors=[_colour(end) for end in ends],
                       alpha=0.75, edgecolor=_INK, linewidth=0.4)  # fmt: skip
    _finish(axes, "seconds", "sessions ended")


def _fewer(counts: Mapping[str, Any], ends: Sequence[str]) -> dict[str, float]:
    """The same counts, all but these ends in one."""
    known = {end: number(counts.get(end)) or 0.0 for end in counts}
    return {end: known.get(end, 0.0) for end in ends} | {
        OTHERS: sum(count for end, count in known.items() if end not in ends)
    }


def _colour(end: str) -> str:
    return _GOOD if end in WELL else _LOST if end in LOST else _BAD


def _finish(axes: Axes, x: str, y: str) -> None:
    axes.set_xlabel(x)
    axes.set_ylabel(y)
    axes.set_ylim(0, 1.08 * max(axes.get_ylim()[1], 1e-9))
    axes.grid(axis="y", color=_INK, alpha=0.15)
    if axes.get_legend_handles_labels()[0]:
        axes.legend(loc="best", fontsize=8)


def _concurrency(level: Mapping[str, Any]) -> str:
    return _label(text(level.get("concurrency"))) if level.get("concurrency") else "no limit"


def _label(word: str) -> str:
    """A short word of a record in ASCII: what a font lacks would be warned of, and drawn as a box."""
    return spelled_out(word)[:24]
