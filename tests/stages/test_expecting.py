from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from runbook import planning, rollout
from runbook.errors import PreflightError
from runbook.events import Note
from runbook.options import Options
from runbook.stages import expecting
from tests.benchmade import SPEC, Loads
from tests.fakehost import FakeHost
from tests.test_rollout import a_host, deploy, work_on
from tests.verify.test_benching import a_host as benched
from tests.verify.test_benching import without_the_fix

if TYPE_CHECKING:
    from runbook.model import Host

ANOTHER = SPEC._replace(output_tokens=32)


def record(outcome: str = "pass", **seconds: Any) -> dict[str, Any]:
    steps = [
        {"name": name.replace("_", " "), "outcome": outcome, "duration_s": lasted}
        for name, lasted in seconds.items()
    ]
    return {"steps": steps}


@pytest.mark.parametrize(
    ("steps", "records", "told"),
    [
        (("bench",), [record(bench=51.2)], "this should take about 51 s, by the last rollouts here"),
        (("bench", "ready"), [record(bench=51.2, ready=0.1)], "this should take about 51 s, by the last rollouts here"),
        (("ready",), [record(ready=0.01)], "this should take about 1 s, by the last rollouts here"),
        (("bench",), [record(bench=100)], "this should take about 2 min, by the last rollouts here"),
        (("bench",), [record(bench=4830)], "this should take about 1 h 20 min, by the last rollouts here"),
        (
            ("restart decode", "bench"),
            [record(restart_decode=20)],
            "this should take about 20 s, by the last rollouts here, plus the time of what never ran here before: bench",
        ),
        (("bench",), [], "how long this takes is not known: bench never ran to its end on this host"),
        (
            ("bench before", "restart a", "restart b", "health a", "ready", "validate final80", "bench"),
            [],
            "how long this takes is not known: 2 × bench, 2 × restart, health, ready, validate never ran to its end on this host",
        ),
        (
            ("restart a", "restart b", "health a", "health b", "ready"),
            [record(ready=7)],
            "this should take about 7 s, by the last rollouts here, plus the time of what never ran here before: "
            "2 × restart, 2 × health",
        ),
        (
            ("bench",),
            [record("fail", bench=3)],
            "how long this takes is not known: bench never ran to its end on this host",
        ),
    ],
)  # fmt: skip
def test_it_is_what_the_steps_took_before(steps: tuple[str, ...], records: list[Any], told: str) -> None:
    assert str(expecting.of(steps, records)) == told


def test_only_the_youngest_count_and_a_strange_one_does_not_decide() -> None:
    records = [record(bench=lasted) for lasted in (10, 11, 900, 12, 13, 500, 500, 500)]
    assert expecting.of(("bench",), records).seconds == 12


@pytest.mark.parametrize(
    "damaged",
    [{}, {"steps": None}, {"steps": [3, {"name": "bench"}, {"name": 7, "outcome": "pass", "duration_s": 1}]},
     record(bench=float("nan")), record(bench="x"), record(bench=-1), record(bench=float("inf"))],
)  # fmt: skip
def test_what_is_no_step_of_ours_counts_for_nothing(damaged: dict[str, Any]) -> None:
    assert expecting.of(("bench",), [damaged, record(bench=10)]).seconds == 10


def notes(fake: FakeHost, *, asks: bool, **options: Any) -> list[str]:
    """What a deploy says before its end."""
    told: list[Any] = []
    rollout.deploy(work_on(fake, listeners=[told.append])._replace(asks=asks), Options(**options))
    fake.lock = None
    return [event.text for event in told if isinstance(event, Note)]


def test_who_is_asked_is_told_how_long_it_will_take_and_who_said_yes_is_not() -> None:
    fake = a_host()
    assert any("not known: 2 × restart, " in note for note in notes(fake, asks=True))
    fake = a_host()
    deploy(fake)
    fake.lock = None
    assert any(note.startswith("this should take about") for note in notes(fake, asks=False, dry_run=True))
    assert not any("this should take" in note for note in notes(fake, asks=False))


def foretold(fake: FakeHost, wanted: Host | None = None) -> tuple[str, ...]:
    """The steps of a deploy that puts load on the host."""
    seen = work_on(fake).observe()
    return expecting.of_plan(wanted or fake.host, planning.deploy(wanted or fake.host, seen), seen)


def test_the_bench_of_the_state_before_is_foretold_exactly_where_it_will_run() -> None:
    fake = benched(Loads())
    told, ran = [], []
    for wanted in (fake.host, fake.host, without_the_fix(fake), fake.host._replace(bench=ANOTHER)):
        told.append("bench before" in foretold(fake, wanted))
        ran.append("bench before" in [step.name for step in deploy(fake, wanted=wanted).steps])
    assert told == ran == [True, False, False, True]


def test_every_step_of_the_proof_is_foretold() -> None:
    fake = benched(Loads())
    steps = foretold(fake)
    ran = [step.name for step in deploy(fake).steps]
    short = {
        "observe",
        "plan",
        "lock",
        "observe again",
        "preflight",
        "save what is there",
        "write",
        "verdict",
    }
    assert list(steps) == [name for name in ran if name not in short]


def test_hand_edits_call_for_a_bench_of_what_they_made() -> None:
    fake = benched(Loads())
    deploy(fake)
    assert "bench before" not in foretold(fake, without_the_fix(fake))
    path = next(iter(fake.host.scripts))
    fake.files[path] += b"# by hand\n"
    assert "bench before" in foretold(fake, without_the_fix(fake))


def test_no_bench_is_foretold_of_what_does_not_run() -> None:
    fake = benched(Loads())
    seen = work_on(fake).observe()
    plan = planning.deploy(fake.host, seen)
    down = {
        name: state._replace(properties={**state.properties, "ActiveState": "failed"})
        for name, state in seen.units.items()
    }
    assert "bench before" not in expecting.of_plan(fake.host, plan, seen._replace(units=down))
    assert "bench before" in expecting.of_plan(fake.host, plan, seen)


def test_a_bench_before_that_never_ran_here_takes_as_long_as_one_after() -> None:
    assert expecting.of(("bench before", "bench"), [record(bench=10)]).seconds == 20
    assert expecting.of(("bench before",), [record(bench=10, bench_before=30)]).seconds == 30


def test_options_that_make_no_sense_are_told_and_stop_nobody_here() -> None:
    fake = benched(Loads(), SPEC._replace(options={"slo": "soon"}))
    assert any("is not known: bench: --slo" in note for note in notes(fake, asks=True))


def test_where_nothing_is_to_be_done_nothing_is_foretold() -> None:
    fake = a_host()
    deploy(fake)
    fake.lock = None
    assert not any("take" in note for note in notes(fake, asks=True, skip_validation=True))


def test_an_audit_that_cannot_be_read_stops_nobody() -> None:
    class Unreadable(FakeHost):
        def _audit_read(self, state: str, offset: int = 0, sha256: str | None = None) -> dict[str, Any]:
            raise PreflightError("audit.jsonl: permission denied")

    fake = Unreadable()
    assert "how long this takes is not known: audit.jsonl: permission denied" in notes(fake, asks=True)
