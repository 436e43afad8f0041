"""Declared launch arguments: edited with the flags in one change, restarted for, and told in tables and findings."""

from __future__ import annotations

import datetime
from typing import TYPE_CHECKING

import pytest

from runbook import argumenttable, comparison, planning
from runbook.errors import EditRefusedError
from runbook.model import Argument, Change, Flag, Processes
from runbook.verdict import Outcome
from runbook.verify import bookkeeping
from tests.building import DECODE, PREFILL, TOPK, UNITS, file_state, host, observation, unit_state

if TYPE_CHECKING:
    from runbook.model import Host, Observation
    from runbook.plan import Plan

MEMORY = Argument("--mem-fraction-static", "0.9", "room for the index cache")
GRAPH = Argument("--disable-cuda-graph", None, "a diagnostic")
TRUST = Argument("--trust-remote-code", None, "its tokenizer", present=True)
SCRIPT = "#!/bin/bash\nexport {topk}=0\nexec python -m sglang.launch_server \\\n  --port 1{args}\n"


def the_host(*args: Argument) -> Host:
    prefill, decode, router = UNITS
    flags = (Flag(TOPK, None, "diagnostic", ("decode",)),)
    return host(units=(prefill, decode._replace(args=args), router), flags=flags)


def script(args: str, *, topk: bool = False) -> bytes:
    text = SCRIPT.format(topk=TOPK, args=args)
    return (text if topk else text.replace(f"export {TOPK}=0\n", "")).encode()


def seen(
    decode: bytes, argv: str, *, ctime_s: float = 500.0, environ: dict[str, str] | None = None
) -> Observation:
    """Decode with this script, and a process with this command line that started at 1000 s."""
    words = tuple(f"python -m sglang.launch_server {argv}".split()) if argv else ()
    state = unit_state("decode.service")
    running = Processes("environ", environ or {}, 100, 1000.0, argv=words)
    states = {
        "decode.service": state._replace(processes=running),
        "prefill.service": unit_state("prefill.service"),
    }
    look = observation(prefill=script(""), decode=decode, units=states)
    return look._replace(files={**look.files, DECODE: file_state(DECODE, decode, ctime_s=ctime_s)})


def reasons(made: Plan) -> dict[str, str]:
    return {restart.role: restart.why for restart in made.restarts if restart.role != "router"}


def test_flags_and_arguments_are_one_change_of_one_file() -> None:
    before = script(" --mem-fraction-static 0.8 \\\n  --disable-cuda-graph", topk=True)
    argv = "--port 1 --mem-fraction-static 0.8 --disable-cuda-graph"
    made = planning.deploy(the_host(MEMORY, GRAPH, TRUST), seen(before, argv, environ={TOPK: "0"}))
    assert [change.path for change in made.changes] == [DECODE]
    assert made.changes[0].after == script(" --mem-fraction-static 0.9 \\\n  --trust-remote-code")
    assert reasons(made) == {
        "decode": f"running environment differs: {TOPK} is '0', wanted absent; running arguments differ: "
        "--disable-cuda-graph is present, wanted absent; --mem-fraction-static is '0.8', wanted '0.9'; "
        "--trust-remote-code is absent, wanted present"
    }


def test_what_is_as_wanted_plans_nothing() -> None:
    look = seen(script(" --mem-fraction-static 0.9"), "--port 1 --mem-fraction-static 0.9")
    assert planning.deploy(the_host(MEMORY, GRAPH), look).changes == ()
    assert reasons(planning.deploy(the_host(MEMORY, GRAPH), look)) == {}


def test_a_script_that_was_edited_and_never_restarted_is_healed() -> None:
    look = seen(script(" --mem-fraction-static 0.9"), "--port 1 --mem-fraction-static 0.8")
    made = planning.deploy(the_host(MEMORY), look)
    assert made.changes == ()
    assert reasons(made) == {
        "decode": "running arguments differ: --mem-fraction-static is '0.8', wanted '0.9'"
    }


def test_an_argument_nobody_declared_restarts_nothing_by_itself() -> None:
    look = seen(script(" --mem-fraction-static 0.9 --x 1"), "--port 1 --mem-fraction-static 0.9 --x 2")
    assert reasons(planning.deploy(the_host(MEMORY), look)) == {}
    assert reasons(planning.deploy(the_host(), look)) == {}


def test_a_rollback_restarts_for_every_argument_that_goes_back() -> None:
    look = seen(script(" --x 2"), "--port 1 --x 2")
    change = Change(DECODE, script(" --x 2"), script(" --x 1"))
    assert reasons(planning.toward(the_host(), look, [change])) == {
        "decode": "running arguments differ: --x is '2', wanted '1'"
    }


@pytest.mark.parametrize(
    ("decode", "ctime_s", "want"),
    [
        (script(" --mem-fraction-static 0.9"), 500.0, {}),
        (script(" --mem-fraction-static 0.9"), 1500.0,
         {"decode": "its script changed after it started and its running arguments are unknown"}),
        (script(""), 500.0, {"decode": "its script changes and its running arguments are unknown"}),
    ],
)  # fmt: skip
def test_unknown_arguments_restart_only_for_a_newer_script(
    decode: bytes, ctime_s: float, want: dict[str, str]
) -> None:
    look = seen(decode, "", ctime_s=ctime_s)
    assert reasons(planning.deploy(the_host(MEMORY), look)) == want
    assert reasons(planning.toward(the_host(), look, [])) == {}


def test_units_that_share_a_script_must_agree() -> None:
    prefill, decode, _ = UNITS
    shared = tuple(
        unit._replace(script=PREFILL, args=(argument,))
        for unit, argument in (
            (prefill, MEMORY),
            (decode, MEMORY._replace(value=None, present=True)),
        )
    )
    with pytest.raises(
        EditRefusedError, match=rf"{PREFILL}: --mem-fraction-static is wanted as '0.9' and present"
    ):
        planning.deploy(host(units=shared, flags=()), observation())


def test_a_launch_that_cannot_be_owned_is_refused_with_its_place() -> None:
    with pytest.raises(
        EditRefusedError, match=rf'{DECODE}:3: "\$\{{ARGS\[@\]\}}" may hold --mem-fraction-static too'
    ):
        planning.deploy(the_host(MEMORY), seen(script(' "${ARGS[@]}"'), ""))


def rows(decode: bytes, argv: str, *args: Argument) -> list[tuple[str, str]]:
    found = argumenttable.rows(the_host(*args), seen(decode, argv))
    return [(row.outcome.value, row.finding("drift", row.outcome).message) for row in found]


def test_verify_tells_wanted_script_and_running() -> None:
    decode, argv = (
        script(" --mem-fraction-static 0.8 --disable-cuda-graph"),
        "--port 1 --mem-fraction-static 0.8",
    )
    assert rows(decode, argv, MEMORY, GRAPH, TRUST) == [
        ("fail", "--mem-fraction-static on decode: wanted '0.9', script '0.8', running '0.8' (cmdline of pid 100); "
         "room for the index cache"),
        ("fail", "--disable-cuda-graph on decode: wanted absent, script present, running absent (cmdline of pid 100); "
         "a diagnostic"),
        ("fail", "--trust-remote-code on decode: wanted present, script absent, running absent (cmdline of pid 100); "
         "its tokenizer"),
    ]  # fmt: skip


def test_what_is_not_known_is_no_pass() -> None:
    assert rows(script(" --mem-fraction-static 0.9"), "", MEMORY) == [
        ("inconclusive", "--mem-fraction-static on decode: wanted '0.9', script '0.9', running unknown "
         "(its command line is not to be seen); room for the index cache"),
    ]  # fmt: skip
    assert rows(script(' --mem-fraction-static "$M"'), "--port 1", MEMORY) == [
        ("fail", "--mem-fraction-static on decode: wanted '0.9', script unknown (only a run can tell), running absent "
         "(cmdline of pid 100); room for the index cache"),
    ]  # fmt: skip


def test_after_a_deploy_the_process_must_run_as_the_script_says() -> None:
    decode = script(" --mem-fraction-static 0.8")
    found = [
        comparison.of(the_host(MEMORY), seen(decode, argv)).launched[0].outcome
        for argv in ("--port 1 --mem-fraction-static 0.8", "--port 1 --mem-fraction-static 0.9", "")
    ]
    assert found == [Outcome.PASS, Outcome.FAIL, Outcome.INCONCLUSIVE]


def test_a_status_row_says_alone_absent_and_unknown_apart() -> None:
    decode, argv = script(" --trust-remote-code --mem-fraction-static $M"), "--port 1 --trust-remote-code"
    found = argumenttable.rows(the_host(MEMORY, GRAPH, TRUST), seen(decode, argv))
    assert [
        [row.status()[key] for key in ("flag", "wanted", "file", "running", "evidence")] for row in found
    ] == [
        ["--mem-fraction-static", "0.9", "(unknown)", None, "cmdline"],
        ["--disable-cuda-graph", None, None, None, "cmdline"],
        ["--trust-remote-code", "(stands alone)", "(stands alone)", "(stands alone)", "cmdline"],
    ]


def test_a_status_row_says_since_and_until_when_it_is_wanted() -> None:
    wanted = MEMORY._replace(since=datetime.date(2026, 8, 14), expires=datetime.date(2027, 1, 1))
    rows = [row.status() for row in argumenttable.rows(the_host(wanted, GRAPH), seen(script(""), ""))]
    assert [(row["since"], row["expires"]) for row in rows] == [("2026-08-14", "2027-01-01"), (None, None)]


def test_two_spellings_of_one_option_are_found_before_any_plan_refuses_them() -> None:
    both = [Argument(name, "2", "why") for name in ("--tp-size", "--tensor-parallel-size")]
    found = bookkeeping.book(the_host(*both), None, datetime.date(2026, 11, 30))
    assert [(one.outcome, one.message) for one in found if one.check == "ledger.twice"] == [
        (
            Outcome.FAIL,
            "--tensor-parallel-size on decode: is the same option as --tp-size; declare it once",
        )
    ]
