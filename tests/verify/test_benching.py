"""The bench of a deploy: which state it is compared with, what a loss does, and what a declared one does."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from runbook import ending
from runbook.model import Argument, Bench, BenchCommand
from tests.benchmade import SPEC, Loads
from tests.building import OVERLAP, UNITS, host
from tests.fakehost import FakeHost, sessions_result
from tests.test_rollout import VALIDATIONS, check, deploy

if TYPE_CHECKING:
    from runbook.story import Story

WORKER = "http://127.0.0.1:30002"


def a_host(loads: Any, spec: Bench | BenchCommand = SPEC, **fields: Any) -> FakeHost:
    return FakeHost(host=host(validations=VALIDATIONS[:1], bench=spec, **fields), load=loads)


def steps(story: Story) -> list[str]:
    return [step.name for step in story.steps]


def verdicts(story: Story) -> list[str]:
    assert story.measured.comparison is not None
    return [row["verdict"] for row in story.measured.comparison["rows"]]


def without_the_fix(fake: FakeHost) -> Any:
    flags = tuple(f._replace(value="1") if f.name == OVERLAP else f for f in fake.host.flags)
    return fake.host._replace(flags=flags)


def test_the_state_before_is_benched_before_the_first_write_and_kept_with_its_release() -> None:
    fake = a_host(Loads())
    story = deploy(fake)
    assert (story.exit_code, verdicts(story)) == (0, ["no regression", "no regression"])
    assert steps(story).index("bench before") < steps(story).index("write") < steps(story).index("bench")
    release = fake.releases[story.release or ""]
    assert fake.releases[release["parent"]]["bench"]["kind"] == release["bench"]["kind"] == "bench"


def test_a_bench_alone_proves_a_release_and_everything_says_that_no_validation_ran() -> None:
    fake = a_host(Loads())
    fake.host = fake.host._replace(validations=())
    story = deploy(fake)
    why = "benched, not validated: hosts/gpu1.yml declares no validation"
    assert fake.releases[story.release or ""]["verdict"] == "proven"
    assert story.document()["unvalidated"] == why
    verdict = next(step for step in story.steps if step.name == "verdict")
    assert verdict.detail == f"release {story.release} is proven: {why}"
    assert f"  {why}" in ending.lines(story.document())


def test_a_release_that_keeps_a_bench_of_this_workload_is_not_benched_again() -> None:
    loads = Loads()
    fake = a_host(loads)
    deploy(fake)
    story = deploy(fake, wanted=without_the_fix(fake))
    assert "bench before" not in steps(story)
    assert len(loads.asked) == 3


@pytest.mark.parametrize(
    "other",
    [
        {"concurrency": (64,)},
        {"concurrency": (1, 8, 16)},
        {"output_tokens": 32},
        {"options": {"extra-body": '{"top_k": 1}'}},
    ],
)
def test_a_bench_of_another_workload_is_no_baseline(other: dict[str, Any]) -> None:
    fake = a_host(Loads())
    deploy(fake)
    fake.host = fake.host._replace(bench=SPEC._replace(**other))
    story = deploy(fake, wanted=without_the_fix(fake))
    assert "bench before" in steps(story)
    assert set(verdicts(story)) == {"no regression"}


@pytest.mark.parametrize("path", ["/server_info", "/get_server_info"])
def test_a_bench_of_another_server_version_is_no_baseline(path: str) -> None:
    loads = Loads(server={"version": "0.5.22", "arguments": {}, "gpu": {}})
    fake = a_host(loads)
    fake.pages[f"{WORKER}{path}"] = json.dumps({"version": "0.5.22"}).encode()
    deploy(fake)
    fake.pages[f"{WORKER}{path}"] = json.dumps({"version": "0.5.23"}).encode()
    loads.server = {"version": "0.5.23", "arguments": {}, "gpu": {}}
    story = deploy(fake, wanted=without_the_fix(fake))
    assert ("bench before" in steps(story), story.exit_code) == (True, 0)


def test_an_argument_that_the_host_file_declares_may_differ_since_it_is_what_was_changed() -> None:
    def server(running: int) -> dict[str, Any]:
        return {"version": "1", "arguments": {"max_running_requests": running, "tp_size": 8}, "gpu": {}}

    loads = Loads(server=server(32))
    argument = Argument("--max-running-requests", "64", "more at once")
    units = (UNITS[0], UNITS[1]._replace(args=(argument,)), UNITS[2])
    fake = a_host(loads, units=units)
    starts = fake.behave

    def behave(unit: Any) -> None:
        loads.server = server(64)
        starts(unit)

    fake.behave = behave
    story = deploy(fake)
    assert story.measured.baseline is not None
    assert story.measured.baseline["fingerprint"]["server"] == server(32)
    assert set(verdicts(story)) == {"no regression"}


def test_an_argument_nobody_declared_is_no_comparison() -> None:
    loads = Loads(server={"version": "1", "arguments": {"tp_size": 8}, "gpu": {}})
    fake = a_host(loads)

    def behave(unit: Any) -> None:
        loads.server = {"version": "1", "arguments": {"tp_size": 4}, "gpu": {}}

    fake.behave = behave
    story = deploy(fake)
    said = [finding.message for finding in story.findings if finding.outcome.value == "inconclusive"]
    assert story.exit_code == 3
    assert said == ["no baseline: server.arguments.tp_size: baseline 8, now 4"]


def slowed(fake: FakeHost, loads: Loads, speed: float) -> None:
    """Every restart from now on makes the server this slow."""

    def behave(unit: Any) -> None:
        loads.speed = speed

    fake.behave = behave


def test_a_regression_fails_the_deploy_and_keeps_the_release_unproven() -> None:
    loads = Loads()
    fake = a_host(loads)
    slowed(fake, loads, 0.80)
    story = deploy(fake)
    assert (story.exit_code, verdicts(story), story.rolled_back_to) == (1, ["regression"] * 2, None)
    assert fake.releases[story.release or ""]["verdict"] == "unproven"


def test_a_deploy_again_is_not_compared_with_the_slow_state_itself() -> None:
    loads = Loads()
    fake = a_host(loads)
    slowed(fake, loads, 0.80)
    deploy(fake)
    again = deploy(fake)
    assert again.plan is not None
    assert again.plan.changes == ()
    assert (again.exit_code, verdicts(again)) == (1, ["regression"] * 2)


ACCEPT = "overlap off costs ≤ 20 %, needed for correctness"


def test_an_accepted_cost_lets_the_deploy_pass_and_stands_in_the_audit() -> None:
    loads = Loads()
    fake = a_host(loads, SPEC._replace(accept=ACCEPT))
    slowed(fake, loads, 0.80)
    story = deploy(fake)
    assert (story.exit_code, verdicts(story)) == (0, ["regression"] * 2)
    assert fake.releases[story.release or ""]["verdict"] == "proven"
    (record,) = fake.audit
    assert record["bench"]["comparison"]["accept"] == ACCEPT
    messages = [finding["message"] for finding in record["findings"] if finding["check"] == "bench"]
    assert sum(message.endswith(f"accepted: {ACCEPT}") for message in messages) == 2


def test_a_loss_beyond_the_accepted_one_fails_and_says_what_was_accepted() -> None:
    loads = Loads()
    fake = a_host(loads, SPEC._replace(accept=ACCEPT))
    slowed(fake, loads, 0.60)
    story = deploy(fake)
    assert (story.exit_code, verdicts(story)) == (1, ["regression"] * 2)
    said = f"a loss of up to 20 % is accepted: {ACCEPT}"
    assert sum(finding.message.endswith(said) for finding in story.findings) == 2


def test_an_accepted_cost_does_not_let_an_unsound_bench_pass() -> None:
    loads = Loads()
    fake = a_host(loads, SPEC._replace(accept=ACCEPT))

    def behave(unit: Any) -> None:
        loads.problems = ("foreign requests: the server counted 99, 10 of them ours",)

    fake.behave = behave
    assert deploy(fake).exit_code == 3


def test_an_unsound_baseline_is_measured_anew() -> None:
    loads = Loads(problems=("client-bound: 97% of its core",))
    fake = a_host(loads)
    first = deploy(fake)
    loads.problems = ()
    second = deploy(fake, wanted=without_the_fix(fake))
    assert (first.exit_code, second.exit_code) == (3, 0)
    assert "bench before" in steps(second)


@pytest.mark.parametrize(
    "kept", [{"kind": "bench"}, {"kind": 7}, {"kind": "bench", "schema": 1, "fingerprint": []}]
)
def test_a_damaged_bench_of_a_release_is_no_baseline(kept: dict[str, Any]) -> None:
    fake = a_host(Loads())
    release = fake.releases[deploy(fake).release or ""]
    release["bench"] = kept
    assert "bench before" in steps(deploy(fake, wanted=without_the_fix(fake)))
    release["bench"] = kept
    assert check(fake).exit_code in (3, 5)


def test_a_load_generator_that_prints_nonsense_is_an_error_and_no_result() -> None:
    class Nonsense(Loads):
        def __call__(self, argv: list[str]) -> dict[str, Any]:
            return sessions_result(argv) if "repro" in argv else {"kind": "bench", "schema": 1}

    story = deploy(a_host(Nonsense()))
    assert (story.exit_code, story.measured.bench) == (3, None)
    assert any("not a whole bench result" in finding.message for finding in story.findings)


def test_foreign_counters_and_facts_are_those_of_the_worker_behind_the_router() -> None:
    loads = Loads()
    deploy(a_host(loads))
    words = loads.asked[0]
    given = dict(zip(words[::2], words[1::2], strict=True))
    assert given["--base-url"] == "http://127.0.0.1:30001"
    assert given["--metrics-url"] == "http://127.0.0.1:30002/metrics"
    assert given["--server-url"] == "http://127.0.0.1:30002"


def test_an_option_that_makes_no_sense_is_refused_before_anything_is_written() -> None:
    fake = a_host(Loads(), SPEC._replace(options={"slo": "soon"}))
    story = deploy(fake)
    assert (story.exit_code, "bench: --slo" in str(story.error)) == (2, True)
    assert "files_write" not in fake.calls


def test_verify_compares_with_the_bench_of_the_release() -> None:
    loads = Loads()
    fake = a_host(loads)
    deploy(fake)
    loads.speed = 0.8
    story = check(fake)
    assert (story.exit_code, verdicts(story)) == (1, ["regression"] * 2)


# ------------------------------------------------------------------ a command of the user's own

COMMAND = BenchCommand("/root/bench_tput.py --n 80", 600.0)


class Script:
    """Plays the user's script; `says` is what it prints, a list a run."""

    def __init__(self, *says: list[str], status: int = 0) -> None:
        self.says, self.status = list(says), status

    def __call__(self, argv: list[str]) -> dict[str, Any]:
        if "repro" in argv:
            return sessions_result(argv)
        assert argv[-1] == COMMAND.run
        return {"lines": self.says.pop(0), "exit": self.status}


def test_a_commands_lines_of_before_and_after_are_evidence_and_no_number_is_read_from_them() -> None:
    fake = a_host(Script(["warming up", "throughput: 900 tok/s"], ["throughput: 450 tok/s"]), COMMAND)
    story = deploy(fake)
    (found,) = [finding for finding in story.findings if finding.check == "bench"]
    assert (story.exit_code, found.outcome.value) == (3, "inconclusive")
    assert "runbook reads no number out of them and cannot say whether it is slower" in found.message
    assert found.evidence["before"] == ["warming up", "throughput: 900 tok/s"]
    assert found.evidence["lines"] == ["throughput: 450 tok/s"]
    assert fake.audit[0]["bench"]["result"]["lines"] == ["throughput: 450 tok/s"]


def test_a_command_passes_where_the_host_file_declares_that_having_run_is_enough() -> None:
    accepting = COMMAND._replace(accept="read by hand")
    story = deploy(a_host(Script(["900 tok/s"], ["880 tok/s"]), accepting))
    (found,) = [finding for finding in story.findings if finding.check == "bench"]
    assert (story.exit_code, found.message.endswith("; accepted: read by hand")) == (0, True)


@pytest.mark.parametrize(
    ("status", "said"), [(1, "did not end well"), (124, "stopped at its 600 s"), (137, "stopped")]
)
def test_a_command_that_does_not_end_well_concludes_nothing_even_if_accepted(status: int, said: str) -> None:
    accepting = COMMAND._replace(accept="read by hand")
    story = deploy(a_host(Script(["x"], ["y"], status=status), accepting))
    assert story.exit_code == 3
    assert any(said in finding.message for finding in story.findings)


def test_the_bench_of_another_command_is_not_shown_beside_this_one() -> None:
    fake = a_host(Script(["a"], ["b"], ["c"], ["d"]), COMMAND)
    deploy(fake)
    for release in fake.releases.values():
        release["bench"] = {**release["bench"], "run": "another"} if release["bench"] else None
    story = deploy(fake, wanted=without_the_fix(fake))
    assert "bench before" in steps(story)
