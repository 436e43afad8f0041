"""What a page shows of a record, section by section, as plain values; nothing is escaped here, all of it is text."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from runbook.audit.record import moment
from runbook.ending import gone_back
from runbook.report import figures
from runbook.report.reading import items, number, outcome_of, rows, table, text
from runbook.verdict import Outcome

if TYPE_CHECKING:
    from collections.abc import Mapping

Fact = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Bar:
    """A step on the timeline: where it begins and how wide it is, in percent of the whole."""

    name: str
    outcome: str
    at: str
    took: str
    detail: str
    left: float
    width: float


@dataclass(frozen=True, slots=True)
class Line:
    """A line of a diff; `kind` is add, del, hunk, file or empty."""

    kind: str
    text: str


@dataclass(frozen=True, slots=True)
class Trouble:
    """A finding that is no pass, its journal and the rest of its evidence as indented JSON."""

    check: str
    outcome: str
    message: str
    journal: str
    evidence: str


def heading(record: Mapping[str, Any]) -> str:
    back = gone_back(record)
    return f"{text(record.get('action'))} {text(record.get('host'))}{f', {text(back)}' if back else ''}"


def summary(record: Mapping[str, Any]) -> list[Fact]:
    """Who, when, why, and what it came to; empty facts are left out."""
    told = [
        ("rollout", text(record.get("id") or record.get("rollout"))),
        ("began", _when(record.get("started"))),
        ("took", _took(record)),
        ("by", operator(record)),
        ("reason", text(record.get("reason") or table(record, "operator").get("reason"))),
        ("exit code", text(record.get("exit_code"))),
        ("release", _release(record)),
        ("came from", text(record.get("parent"))),
        ("on the command line", _overrides(record)),
        ("error", text(record.get("error"))),
    ]
    return [(name, value) for name, value in told if value]


def _release(record: Mapping[str, Any]) -> str:
    verdict = text(record.get("verdict"))
    release = text(record.get("release"))
    return f"{release} ({verdict})" if release and verdict else release


def _when(value: Any) -> str:
    found = moment(value)
    return f"{found:%Y-%m-%d %H:%M:%S} UTC" if found else text(value)


def _took(record: Mapping[str, Any]) -> str:
    began, ended = moment(record.get("started")), moment(record.get("ended"))
    return figures.seconds((ended - began).total_seconds()) if began and ended else ""


def operator(record: Mapping[str, Any]) -> str:
    """`ann@laptop`, or who an interrupted rollout said it was of."""
    who = table(record, "operator")
    return text(who.get("who")) or "@".join(text(who[key]) for key in ("user", "host") if who.get(key))


def _overrides(record: Mapping[str, Any]) -> str:
    said = table(record, "overrides")
    return ", ".join(
        f"{text(name)} {'absent' if value is None else f'= {text(value)}'}" for name, value in said.items()
    )


def troubles(record: Mapping[str, Any]) -> list[Trouble]:
    """The findings that did not pass, and those that pass with a warning."""
    return [_trouble(row) for row in rows(record, "findings") if _matters(row)]


def _matters(row: Mapping[str, Any]) -> bool:
    return row.get("outcome") != Outcome.PASS.value or table(row, "evidence").get("severity") == "warn"


def _trouble(row: Mapping[str, Any]) -> Trouble:
    evidence = dict(table(row, "evidence"))
    journal = text(evidence.pop("journal", ""))
    rest = json.dumps(evidence, indent=1, ensure_ascii=False, default=str) if evidence else ""
    return Trouble(
        text(row.get("check")), outcome_of(row.get("outcome")), text(row.get("message")), journal, text(rest)
    )


def timeline(record: Mapping[str, Any]) -> list[Bar]:
    """The steps in order; records without beginnings are laid end to end."""
    steps = rows(record, "steps")
    begins = _begins(steps)
    whole = max((at + _lasted(step) for at, step in zip(begins, steps, strict=True)), default=0.0) or 1.0
    return [_bar(step, at, whole) for step, at in zip(steps, begins, strict=True)]


def _begins(steps: list[Mapping[str, Any]]) -> list[float]:
    begins: list[float] = []
    end = 0.0
    for step in steps:
        at = number(step.get("at_s"))
        begins.append(max(at, 0.0) if at is not None else end)
        end = begins[-1] + _lasted(step)
    return begins


def _lasted(step: Mapping[str, Any]) -> float:
    return max(number(step.get("duration_s")) or 0.0, 0.0)


def _bar(step: Mapping[str, Any], at: float, whole: float) -> Bar:
    lasted = _lasted(step)
    left = min(100 * at / whole, 99.5)
    return Bar(
        name=text(step.get("name")),
        outcome=outcome_of(step.get("outcome")),
        at=figures.seconds(at),
        took=figures.seconds(lasted),
        detail=text(step.get("detail")),
        left=round(left, 3),
        width=round(min(max(100 * lasted / whole, 0.5), 100 - left), 3),
    )


def diff(change: Mapping[str, Any]) -> list[Line]:
    return [Line(_kind(line), line) for line in text(change.get("diff")).splitlines()]


def _kind(line: str) -> str:
    starts = (("---", "file"), ("+++", "file"), ("@@", "hunk"), ("+", "add"), ("-", "del"))
    return next((kind for start, kind in starts if line.startswith(start)), "")


def environment(record: Mapping[str, Any]) -> list[Fact]:
    """The host, its GPUs, the servers' versions and arguments, the source checkout, and the tool."""
    facts = table(record, "facts")
    host = [
        (name, text(facts[name]))
        for name in ("hostname", "kernel", "machine", "python", "user")
        if facts.get(name)
    ]
    gpus = [("GPU", _gpu(gpu)) for gpu in rows(facts, "gpus")]
    servers = [(f"server {text(role)}", _server(found)) for role, found in table(facts, "servers").items()]
    checkout = [("checkout", text(facts["checkout"]))] if facts.get("checkout") else []
    tool = [
        (
            "runbook",
            ", ".join(f"{text(key)} {text(value)}" for key, value in table(record, "tool").items() if value),
        )
    ]
    who = [
        (f"operator's {text(key)}", text(value)) for key, value in table(record, "operator").items() if value
    ]
    return [fact for fact in (*host, *gpus, *servers, *checkout, *tool, *who) if fact[1]]


def _gpu(gpu: Mapping[str, Any]) -> str:
    known = (text(gpu.get(key)) for key in ("index", "name", "driver"))
    return " ".join(part for part in known if part)


def _server(found: Any) -> str:
    if not isinstance(found, dict):
        return text(found)
    arguments = " ".join(f"{text(name)}={text(value)}" for name, value in table(found, "arguments").items())
    return text(f"{text(found.get('version'))} {arguments}".strip())


def chain(record: Mapping[str, Any], verified: str | None) -> list[Fact]:
    """Where the record stands in its host's chain, and what was found when that was verified."""
    told = [
        ("place", f"#{text(record.get('seq'))}" if record.get("seq") else ""),
        ("hash", text(record.get("hash"))),
        ("before it", text(record.get("prev"))),
        ("signed", "yes" if record.get("signature") else "no"),
        ("recorded by", text(record.get("recorded_by"))),
        ("verified", verified or "not for this report; audit.verify does it"),
    ]
    return [(name, text(value)) for name, value in told if value]


def evidence(record: Mapping[str, Any]) -> list[tuple[str, list[Trouble]]]:
    """What each validation itself saw: its findings with their evidence, by its name."""
    found = [
        (text(run.get("name")), [_trouble(row) for row in rows(run, "findings")])
        for run in rows(record, "validations")
    ]
    return [(name, seen) for name, seen in found if seen]


def notes(record: Mapping[str, Any]) -> list[str]:
    return [text(note) for note in items(table(record, "plan"), "notes")]
