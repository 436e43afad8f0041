"""What a rollout did, taken from the calls that went over the wire."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from runbook import deeds
from runbook.calling import TellingWire
from runbook.deeds import Called, Deeds
from runbook.events import Run
from runbook.programs import Program
from tests.fakehost import FakeHost

DECODE = "decode.service"


def called(call: str, value: Any = None, *, error: str | None = None, about: str = "", **args: Any) -> Called:
    return Called(call, about, 0.25, error, args, value)


def of(*calls: Called) -> Deeds:
    found = Deeds(clock=lambda: 10.0)
    for call in calls:
        found.add(call)
    return found


def units(pid: int) -> Called:
    return called("units", {DECODE: {"MainPID": str(pid)}}, units=[DECODE])


def test_a_written_file_is_told_with_both_hashes() -> None:
    changes = [{"path": "/a", "before": "1"}, {"path": "/gone", "before": "2"}]
    found = of(called("files_write", {"/a": "3", "/gone": None}, changes=changes))
    assert found.files == [
        {"path": "/a", "before": "1", "after": "3"},
        {"path": "/gone", "before": "2", "after": None},
    ]
    assert found.calls[0]["about"] == "/a /gone"


def test_a_restart_is_told_with_the_old_and_the_new_process() -> None:
    restart = called("unit_restart", {"before": 100}, unit=DECODE)
    came_up = called("record_start", {}, unit=DECODE, pid=101)
    assert of(restart, units(100), units(0), units(101), came_up).restarts == [
        {"unit": DECODE, "before": 100, "after": 101}
    ]


def test_a_restart_that_never_came_up_names_the_first_process_it_started() -> None:
    restart = called("unit_restart", {"before": "100"}, unit=DECODE)
    assert of(restart, units(101), units(102)).restarts[0]["after"] == 101
    assert of(restart, units(0)).restarts[0]["after"] is None


def test_equal_neighbours_are_one_entry_with_their_time_together() -> None:
    poll = called("job_poll", {"exit": None}, about="job=1")
    found = of(poll, poll, called("job_poll", {"exit": 1}, about="job=1"))
    assert [(one["times"], one["duration_s"], one["exit"]) for one in found.calls] == [
        (2, 0.5, None),
        (1, 0.25, 1),
    ]
    assert found.calls[0]["at_s"] == -0.25


def test_the_programs_of_calls_are_kept_with_the_moment_of_their_call() -> None:
    show = Program("systemctl show -- decode.service", 0, 0.2)
    found = of(*(replace(units(101), programs=(show,)),) * 3)
    (row,) = found.programs.rows
    assert (row["call"], row["times"], row["duration_s"], row["at_s"]) == ("units", 3, 0.6, -0.25)


def test_a_call_that_failed_did_nothing_but_is_told() -> None:
    found = of(called("unit_restart", error="no such unit", unit=DECODE))
    assert found.restarts == []
    assert found.calls[0]["error"] == "no such unit"


def test_a_commands_words_are_told_without_their_secrets() -> None:
    argv = ["python3", "-m", "load", "--api-key", "sesame", "--sessions", "80"]
    about = of(called("job_start", {"job": "1"}, argv=argv)).calls[0]["about"]
    assert "sesame" not in about
    assert about.endswith("--sessions 80")


def test_of_a_long_command_whole_words_are_told() -> None:
    about = of(called("job_start", {"job": "1"}, argv=["check", "x" * 290, "sk-secret-key"])).calls[0][
        "about"
    ]
    assert about == f"check {'x' * 290} …"


def test_the_calls_are_bounded_and_those_left_out_are_counted() -> None:
    found = of(*(called("units", {}, about=f"units={n}") for n in range(deeds.LIMIT + 7)))
    assert (len(found.calls), found.left_out) == (deeds.LIMIT, 7)


def test_the_releases_last_verdict_is_kept() -> None:
    update = called("release_update", {}, id="r", fields={"verdict": "proven"})
    assert of(update, called("release_update", {}, id="r", fields={"bench": {}})).verdict == "proven"


def test_a_run_takes_its_deeds_from_the_wire() -> None:
    fake, run = FakeHost(), Run()
    TellingWire(fake, run.tell).call("unit_restart", unit=DECODE)  # type: ignore[arg-type]
    assert [restart["unit"] for restart in run.deeds.restarts] == [DECODE]
