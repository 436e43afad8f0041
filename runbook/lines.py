"""Plans, results and records as lines of text: what the console prints, with or without colour."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from runbook import benchlines, screens
from runbook.text import clean, one_line, sentence, short_words
from runbook.verdict import Outcome, is_warning

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from runbook.events import Called, StepEnded
    from runbook.places.told import Told
    from runbook.plan import Plan
    from runbook.programs import Program
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
    detail = f"  {sentence(step.detail)}" if step.detail else ""
    return f"{marks[step.outcome]} {one_line(step.name)}  {step.duration_s:.1f} s{detail}"


def found(finding: Finding, marks: Mapping[Outcome, str]) -> list[str]:
    """A finding, and the journal's end where it is the evidence."""
    excerpt = clean(str(finding.evidence.get("journal", ""))).rstrip()
    tail = [f"    {line}" for line in excerpt.splitlines()]
    mark = "!" if is_warning(finding) else marks[finding.outcome]
    return [f"{mark} {finding.check}: {sentence(finding.message, 800)}", *tail]


def called(event: Called) -> list[str]:
    """A call of the helper: what it was about, how long it took, and its error; then the programs that it ran."""
    error = f"  {sentence(event.error)}" if event.error else ""
    call = one_line(f"> {event.call} {event.about}", 160) + f"  {1000 * event.duration_s:.0f} ms{error}"
    return [call, *map(_ran, event.programs)]


def _ran(program: Program) -> str:
    """Its command, how it ended, and how long that took."""
    ended = sentence(program.error) if program.error else f"exit {program.exit}"
    return "  $ " + one_line(short_words(program.command), 160) + f"  {ended}, {1000 * program.took_s:.0f} ms"


def of(kind: str, value: Any, *, width: int | None = None) -> list[str]:
    """The lines of a shown value, for `width` columns (None: as wide as they get); `kind` is one of the below."""
    if kind in _FITTED:
        return [clean(line) for line in _FITTED[kind](value, width)]
    return [clean(line) for line in _KINDS[kind](value)]


def style(kind: str, line: str) -> str:
    """The Rich style of one such line."""
    if kind in ("plan", "rollback"):
        return next((style for start, style in _DIFF_STYLES if line.startswith(start)), "")
    if kind == "validation" and line.startswith("CORRUPTION"):
        return "bold" if " 0/" in line else "bold red"
    return "dim" if kind == "audit" else ""


def is_prose(kind: str, line: str) -> bool:
    """Whether a shown line may be folded between its words; a line of a diff, a log or a table may not."""
    return kind not in _WHOLE and line.startswith(_PROSE)


_WHOLE = ("logs", "releases", "bench", "replay")
_PROSE = ("restart ", "!! ", "release ", "last rollout ", "LOCKED", "  true rate ")

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
    if (arm := (result.get("details") or {}).get("control")) is not None:
        seen = f"{arm['slips']} slips or miscopies, {arm['soft']} soft defects"
        lines.append(f"  control arm: {seen} in {arm['judged']} sessions")
    if result["streams"]:
        lines.append(f"  raw streams of unclean sessions, for validate --replay: {result['streams']}")
    return lines


def _replay(document: Mapping[str, Any]) -> list[str]:
    return [f"{document['name']}:", *(line for one in document["sessions"] for line in _replayed(one))]


def _replayed(session: Mapping[str, Any]) -> list[str]:
    """A kept session, and each of its defects with the turn, the round and the byte it was seen at."""
    head = f"session {session['session']}, wave {session['wave'] + 1}: {session['end']} {session['detail']}".rstrip()
    defects = (
        f"  {one['severity']} {one['kind']}, turn {one['turn']}, round {one['round']}, byte {one['offset']}: {one['message']}"
        for one in session["defects"]
    )
    return [head, *defects]


def _audit(record: Mapping[str, Any]) -> list[str]:
    if record["seq"] is None:
        return [f"audit {record['id']}: NOT on the host"]
    return [f"audit {record['id']} #{record['seq']} {record['hash'][:16]}"]


_KINDS: dict[str, Callable[[Any], list[str]]] = {
    "plan": plan_lines,
    "places": _places,
    "rollback": _rollback,
    "validation": _validation,
    "replay": _replay,
    "audit": _audit,
}

# What an action was asked for; it happens at no moment.
SCREENS = ("status", "releases", "logs")

# What is a table, or has long lines, and looks otherwise where it is narrow.
_FITTED: dict[str, Callable[[Any, int | None], list[str]]] = {
    "bench": benchlines.of_judged,
    "status": screens.status,
    "releases": screens.releases,
    "logs": screens.logs,
}
