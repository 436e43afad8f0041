"""The tables of a report, row by row; like everything a page shows of a record, plain text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from runbook import unsaid
from runbook.report import figures
from runbook.report.reading import number, outcome_of, rows, table, text
from runbook.text import short_words
from runbook.verdict import Outcome

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True)
class Row:
    """A row of a table; `outcome` colours it, and is empty where nothing was judged."""

    cells: tuple[str, ...]
    outcome: str = ""


def is_done(record: Mapping[str, Any]) -> bool:
    """Whether the plan was carried out; verify and plan only say what a deploy would do."""
    return record.get("action") not in ("plan", "verify")


def restarts(record: Mapping[str, Any]) -> list[Row]:
    """Units that were restarted: why, and the MainPID before and after; without that what was planned."""
    planned = {text(row.get("unit")): text(row.get("why")) for row in rows(table(record, "plan"), "restarts")}
    done = rows(record, "restarts")
    if not (done and is_done(record)):
        return [Row((unit, why, "", "")) for unit, why in planned.items()]
    return [_restarted(row, planned) for row in done]


def _restarted(row: Mapping[str, Any], planned: dict[str, str]) -> Row:
    """A unit restarts once as planned; what restarts again does so on the way back."""
    unit = text(row.get("unit"))
    why = planned.pop(unit, "on the way back")
    return Row((unit, text(row.get("why")) or why, text(row.get("before")), text(row.get("after"))))


def files(record: Mapping[str, Any]) -> list[Row]:
    """Files that were written: the SHA-256 of their bytes before and after."""
    return [
        Row((text(row.get("path")), text(row.get("before")) or "absent", text(row.get("after")) or "absent"))
        for row in rows(record, "files")
    ]


def flags(record: Mapping[str, Any]) -> list[Row]:
    """Flag, unit, wanted, file, running, why, owner; what was gone back from is judged by the files that are back."""
    went_back = bool(record.get("rolled_back_to"))
    return [
        _flag(row, _once_back(row) if went_back else outcome_of(row.get("outcome")))
        for row in rows(record, "flags")
    ]


def _once_back(row: Mapping[str, Any]) -> str:
    """Whether what runs is what the release that is back has in its files, whatever the host file or --set wanted."""
    undecided = [said for said in unsaid.TEXTS if said != unsaid.ALONE]
    if row.get("evidence") == "unknown" or row.get("file") in undecided:
        return Outcome.INCONCLUSIVE.value
    found = Outcome.PASS if row.get("running") == row.get("file") else Outcome.FAIL
    return found.value


def _flag(row: Mapping[str, Any], outcome: str) -> Row:
    unknown = row.get("evidence") == "unknown"
    values = [
        text("absent" if row.get(key) is None else row[key]) or "empty"
        for key in ("wanted", "file", "running")
    ]
    if unknown:
        values[2] = "unknown"
    names = (text(row.get("flag")), text(row.get("unit")))
    return Row((*names, *values, text(row.get("why")), text(row.get("owner"))), outcome)


def validations(record: Mapping[str, Any]) -> list[Row]:
    """Name, sessions, corrupt, bound, counts, wall, and what it came to."""
    return [_validation(run) for run in rows(record, "validations")]


def _validation(run: Mapping[str, Any]) -> Row:
    counts = ", ".join(f"{text(end)} {text(count)}" for end, count in table(run, "counts").items())
    judged = run.get("judged", run.get("finished", run.get("sessions")))
    asked = f"{text(run.get('sessions'))} × {text(run.get('rounds')) or '?'}"
    corrupt = f"{text(run.get('corrupt'))} of {text(judged)}"
    bound = figures.percent(run.get("upper_95"))
    name = text(run.get("name"))
    outcome = outcome_of(run.get("outcome"))
    return Row((name, asked, corrupt, bound, counts, figures.seconds(run.get("wall_s")), outcome), outcome)


def comparison(record: Mapping[str, Any]) -> list[Row]:
    """Concurrency, both rates, ratio, its bounds, the least loss that shows, verdict."""
    return [_compared(row) for row in rows(table(table(record, "bench"), "comparison"), "rows")]


_VERDICTS = {"no regression": "pass", "regression": "fail", "inconclusive": "inconclusive"}


def _verdict(row: Mapping[str, Any]) -> str:
    """A run without a regression says how great a one it may have missed; a loss that is seen and allowed is named."""
    low = number(row.get("low"))
    if row.get("verdict") != "no regression" or low is None:
        return text(row.get("verdict"))
    seen = "slower, " if row.get("slower") is True else ""
    return f"{seen}no regression beyond {max(0.0, 1 - low):.1%}"


def _compared(row: Mapping[str, Any]) -> Row:
    low, high = figures.plain(row.get("low"), 3), figures.plain(row.get("high"), 3)
    verdict, why = _verdict(row), text(row.get("why"))
    return Row(
        (
            text(row.get("concurrency")) if row.get("concurrency") else "no limit",
            figures.plain(row.get("baseline_tok_s")),
            figures.plain(row.get("current_tok_s")),
            figures.plain(row.get("ratio"), 3),
            "-" if "-" in (low, high) else f"{low} to {high}",
            figures.percent(row.get("detectable"), 1),
            f"{verdict}: {why}" if why else verdict,
        ),
        _VERDICTS.get(text(row.get("verdict")), ""),
    )


def probes(record: Mapping[str, Any]) -> list[Row]:
    return [
        Row((text(row.get("check")), text(row.get("message"))), outcome_of(row.get("outcome")))
        for row in rows(record, "probes")
    ]


def calls(record: Mapping[str, Any]) -> list[Row]:
    """Call, what it was about, how often in a row, when, how long, and its error or exit."""
    return [_call(row) for row in rows(record, "calls")]


def programs(record: Mapping[str, Any]) -> list[Row]:
    """Program, the call that ran it, how often, when first, how long in all and at most, and its exit or why there is none."""
    return [_program(row) for row in rows(record, "programs")]


def _program(row: Mapping[str, Any]) -> Row:
    spent = (figures.seconds(row.get(key)) for key in ("at_s", "duration_s", "longest_s"))
    ended = text(row.get("error")) or text(row.get("exit"))
    times = text(row.get("times")) or "1"
    return Row((short_words(text(row.get("command"))), text(row.get("call")), times, *spent, ended))


def _call(row: Mapping[str, Any]) -> Row:
    ended = text(row.get("error")) or text(row.get("exit"))
    times = text(row.get("times")) or "1"
    spent = (figures.seconds(row.get("at_s")), figures.seconds(row.get("duration_s")))
    return Row(
        (text(row.get("call")), text(row.get("about")), times, *spent, ended),
        "fail" if row.get("error") else "",
    )
