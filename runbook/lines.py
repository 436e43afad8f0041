"""Plans, results and records as lines of text: what the console prints, with or without colour."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from runbook.text import clean, one_line
from runbook.verdict import Outcome, is_warning

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from runbook.events import StepEnded
    from runbook.places.told import Told
    from runbook.plan import Plan
    from runbook.validations.bench import Judged
    from runbook.verdict import Finding


MARKS = {Outcome.PASS: "✓", Outcome.FAIL: "✗", Outcome.ERROR: "✗", Outcome.INCONCLUSIVE: "?"}
WORDS = {
    Outcome.PASS: "ok",
    Outcome.FAIL: "FAIL",
    Outcome.ERROR: "ERROR",
    Outcome.INCONCLUSIVE: "INCONCLUSIVE",
}


def ended(step: StepEnded, marks: Mapping[Outcome, str]) -> str:
    """A step that ended: mark, name, how long it took, what it says."""
    detail = f"  {one_line(step.detail)}" if step.detail else ""
    return f"{marks[step.outcome]} {step.name}  {step.duration_s:.1f} s{detail}"


def found(finding: Finding, marks: Mapping[Outcome, str]) -> list[str]:
    """A finding, and the journal's end where it is the evidence."""
    excerpt = clean(str(finding.evidence.get("journal", ""))).rstrip()
    tail = [f"    {line}" for line in excerpt.splitlines()]
    mark = "!" if is_warning(finding) else marks[finding.outcome]
    return [f"{mark} {finding.check}: {one_line(finding.message, 800)}", *tail]


def of(kind: str, value: Any) -> list[str]:
    """The lines of a shown value; `kind` is one of plan, places, rollback, validation, bench, audit."""
    lines = _KINDS[kind](value)
    return [clean(line) for line in lines]


def style(kind: str, line: str) -> str:
    """The Rich style of one such line."""
    if kind in ("plan", "rollback"):
        return next((style for start, style in _DIFF_STYLES if line.startswith(start)), "")
    if kind == "validation" and line.startswith("CORRUPTION"):
        return "bold" if " 0/" in line else "bold red"
    return "dim" if kind == "audit" else ""


_DIFF_STYLES = (
    ("---", "bold"),
    ("+++", "bold"),
    ("@@", "cyan"),
    ("-", "red"),
    ("+", "green"),
    ("restart", "bold"),
)


def plan_lines(plan: Plan) -> list[str]:
    """Where flags are set, diffs, then restarts with their reasons; an empty plan says so."""
    told = [*_places(plan.places), *plan.notes]
    if plan.empty:
        return [*told, "nothing to change, nothing to restart"]
    diffs = [line for change in plan.changes for line in change.diff().splitlines()]
    reload = ["daemon-reload: a unit file or drop-in changes, or did"] if plan.daemon_reload else []
    return [*told, *diffs, *reload, *(f"restart {restart.unit}: {restart.why}" for restart in plan.restarts)]


def _places(places: Iterable[Told]) -> list[str]:
    return [line for one in places for line in one.lines()]


def _rollback(plan: Plan) -> list[str]:
    return ["rolling back:", *plan_lines(plan)]


def _validation(result: Mapping[str, Any]) -> list[str]:
    lines = [f"{result['name']}:", *result["lines"]]
    if result["upper_95"] is not None and not result["corrupt"]:
        lines.append(
            f"  true rate of corrupt sessions below {result['upper_95']:.2%} (exact one-sided 95 % bound)"
        )
    return lines


def _bench(judged: Judged) -> list[str]:
    return list(judged.table)


def _audit(record: Mapping[str, Any]) -> list[str]:
    if record["seq"] is None:
        return [f"audit {record['id']}: NOT on the host"]
    return [f"audit {record['id']} #{record['seq']} {record['hash'][:16]}"]


def _status(status: Mapping[str, Any]) -> list[str]:
    lines = [_unit_line(unit) for unit in status["units"]]
    lines += [_flag_line(flag) for flag in status["flags"]]
    here = status["current"]
    lines.append(f"release {here['id']} ({here['verdict']}, {here['age']} old)" if here else "no release yet")
    if (lock := status["lock"]) is not None:
        lines.append(
            f"LOCKED by {lock.get('user')}@{lock.get('host')} since {lock.get('since')}: {lock.get('action')}"
        )
    if (inflight := status["inflight"]) is not None:
        lines.append(
            f"INTERRUPTED: rollout {inflight.get('rollout')} by {inflight.get('who')} stopped after step {inflight.get('step')}; "
            "the next deploy or rollback settles it"
        )
    return lines


def _unit_line(unit: Mapping[str, Any]) -> str:
    where = f"{unit['role']:<8} {unit['state']:<20} pid {unit['pid']:<8}"
    return f"{where} restarts {unit['restarts']}  environment: {unit['evidence']}"


def _flag_line(flag: Mapping[str, Any]) -> str:
    values = ", ".join(f"{where} {_value(flag[where])}" for where in ("wanted", "file"))
    running = "unknown" if flag["evidence"] == "unknown" else _value(flag["running"])
    mark = "ok " if flag["outcome"] == Outcome.PASS.value else "!! "
    return f"{mark}{flag['flag']} on {flag['unit']}: {values}, running {running}"


def _value(value: str | None) -> str:
    return "absent" if value is None else repr(value)


def _releases(rows: list[dict[str, Any]]) -> list[str]:
    if not rows:
        return ["no releases on this host yet: a first deploy saves what is there"]
    return [_release_line(row) for row in rows]


def _release_line(row: Mapping[str, Any]) -> str:
    corrupt = " ".join(f"{name} {share}" for name, share in row["corrupt"].items())
    mark = "*" if row["current"] else " "
    line = (
        f"{mark} {row['id']}  {row['verdict']:<9} {row['age']:>7}  parent {row['parent'] or '-'}  {corrupt}"
    )
    return line.rstrip()


_KINDS: dict[str, Callable[[Any], list[str]]] = {
    "plan": plan_lines,
    "places": _places,
    "rollback": _rollback,
    "validation": _validation,
    "bench": _bench,
    "audit": _audit,
    "status": _status,
    "releases": _releases,
}


def summary(document: Mapping[str, Any]) -> list[str]:
    """The end of a rollout in a few lines: verdict first, then release, audit and the way back."""
    lines = [f"{document['action']} {document['host']}: {_headline(document)}"]
    if document["error"]:
        lines += [f"  {line}" for line in clean(document["error"]).splitlines()]
    bad = [finding for finding in document["findings"] if finding["outcome"] != Outcome.PASS.value]
    lines += [
        f"  {finding['outcome']}: {finding['check']}: {one_line(finding['message'])}" for finding in bad
    ]
    if document["release"]:
        lines.append(f"  release {document['release']}")
    if document["audit"]:
        lines.append(f"  audit   {document['rollout']} #{document['audit']['seq']}")
    if _left_changed(document):
        lines.append(f"  to go back: invoke rollback --host {document['host']}")
    return lines


def _headline(document: Mapping[str, Any]) -> str:
    back = f", rolled back to {document['rolled_back_to']}" if document["rolled_back_to"] else ""
    return f"{document['outcome'].upper()} (exit {document['exit_code']}){back}"


def _left_changed(document: Mapping[str, Any]) -> bool:
    """A deploy that wrote something and did not end well, and is still in place."""
    changed = document["plan"] and document["plan"]["changes"] and document["release"]
    return bool(document["action"] == "deploy" and changed and not document["rolled_back_to"])
