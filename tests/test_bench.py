"""`bench --host`: one stage by itself, against what serves now."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from runbook import rollout
from runbook.events import Note, Showed
from runbook.model import BenchCommand
from runbook.options import Options
from tests.benchmade import SPEC, Loads, result
from tests.building import host
from tests.fakehost import FakeHost
from tests.test_rollout import StopAt, deploy, work_on
from tests.test_validate import CHANGING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from runbook.events import Event
    from runbook.story import Story

NO_SERVER: dict[str, Any] = {"version": None, "arguments": {}, "gpu": {}}


def a_host(loads: Any = None, spec: Any = SPEC, **fields: Any) -> FakeHost:
    return FakeHost(host=host(bench=spec, **fields), load=loads or Loads())


def bench(fake: FakeHost, *, listeners: Any = (), load: bool | None = None, **options: Any) -> Story:
    fake.mode, fake.lock = "running", None
    return rollout.bench(work_on(fake, listeners=listeners), Options(load=load, **options))


def tables(told: Sequence[Event]) -> list[tuple[str, ...]]:
    return [event.value.table for event in told if isinstance(event, Showed) and event.kind == "bench"]


def verdicts(story: Story) -> list[str]:
    return [row["verdict"] for row in (story.measured.comparison or {"rows": []})["rows"]]


def test_a_bench_by_itself_passes_and_only_the_audit_is_written() -> None:
    told: list[Event] = []
    fake = a_host()
    story = bench(fake, listeners=[told.append])
    assert (story.exit_code, story.measured.comparison, len(fake.audit)) == (0, None, 1)
    assert fake.audit[0]["action"] == "bench"
    assert CHANGING.isdisjoint(fake.calls)
    assert "tok/s" in tables(told)[0][0]


def test_a_host_without_a_bench_is_benched_by_the_default_sweep() -> None:
    loads = Loads()
    bench(a_host(loads, spec=None))
    words = loads.asked[0]
    assert words[words.index("--concurrency") + 1] == "1,8,32,64,80"


def test_options_of_the_command_line_go_before_those_of_the_host_file() -> None:
    loads = Loads()
    bench(a_host(loads), load_options={"concurrency": "4", "repeats": "2", "slo": "ttft=200"})
    words = dict(zip(loads.asked[0][::2], loads.asked[0][1::2], strict=True))
    assert (words["--concurrency"], words["--repeats"], words["--slo"]) == ("4", "2", "ttft=200")
    assert words["--random-output-len"] == "64"


def test_a_rate_takes_the_place_of_the_levels() -> None:
    loads = Loads()
    bench(a_host(loads), load_options={"request-rate": "4"})
    assert "--concurrency" not in loads.asked[0]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"concurrency": "many"}, "--concurrency"),
        ({"repeats": "0"}, "--repeats: should be above 0"),
        ({"sweep": "1"}, "unrecognized arguments: --sweep"),
        ({"max-regression": "10%"}, "--max-regression: should be from 0 up to 1"),
        ({"max-regression": "nan"}, "--max-regression"),
    ],
)
def test_what_makes_no_sense_is_refused_before_any_load(given: dict[str, str], said: str) -> None:
    fake = a_host()
    story = bench(fake, load_options=given)
    assert (story.exit_code, said in str(story.error)) == (2, True)
    assert "job_start" not in fake.calls


def test_against_a_release_compares_with_the_bench_it_keeps() -> None:
    loads = Loads()
    fake = a_host(loads)
    release = deploy(fake).release or ""
    loads.speed = 0.8
    told: list[Event] = []
    story = bench(fake, against=release, listeners=[told.append])
    assert (story.exit_code, verdicts(story)) == (1, ["regression"] * 2)
    assert [table[0].split()[0] for table in tables(told)] == ["conc", "conc"]
    assert fake.audit[-1]["against"] == release
    assert story.measured.baseline == fake.releases[release]["bench"]


def test_an_allowed_loss_of_the_command_line_and_an_accepted_one_pass() -> None:
    loads = Loads()
    fake = a_host(loads)
    release = deploy(fake).release
    loads.speed = 0.8
    assert bench(fake, against=release, load_options={"max-regression": "0.4"}).exit_code == 0
    story = bench(fake, against=release, load_options={"accept": "known"})
    assert (story.exit_code, verdicts(story)) == (0, ["regression"] * 2)
    assert fake.audit[-1]["bench"]["comparison"]["accept"] == "known"


def test_a_release_without_a_bench_names_those_that_keep_one() -> None:
    fake = a_host(spec=None)
    release = deploy(fake).release
    story = bench(fake, against=release)
    assert (story.exit_code, "keeps no bench; those that do: none" in str(story.error)) == (2, True)
    assert "job_start" not in fake.calls


def test_an_unknown_release_is_refused_before_any_load() -> None:
    fake = a_host()
    story = bench(fake, against="nowhere")
    assert (story.exit_code, "'nowhere' does not exist" in str(story.error)) == (2, True)
    assert "job_start" not in fake.calls


WORDS = ["--base-url", "http://h", "--model", "deepseek-v4-flash", "--concurrency", "1,8"]
WORDS += ["--random-input-len", "350", "--random-output-len", "64"]


def test_a_file_of_the_same_workload_is_compared_with() -> None:
    story = bench(a_host(), against="kept", baseline=result(WORDS, 1.0, NO_SERVER))
    assert (story.exit_code, verdicts(story)) == (0, ["no regression"] * 2)


def test_another_workload_is_refused_before_any_load_with_what_differs() -> None:
    fake = a_host()
    other = [*WORDS[:-1], "32"]
    story = bench(fake, against="kept", baseline=result(other, 1.0, NO_SERVER))
    assert story.exit_code == 2
    assert (
        str(story.error) == "--against kept: it measured something else: output_tokens: baseline 32, now 64"
    )
    assert "job_start" not in fake.calls


def test_another_server_is_refused_after_the_load_and_what_was_measured_is_shown() -> None:
    told: list[Event] = []
    fake = a_host(Loads(server={"version": "2", "arguments": {}, "gpu": {}}))
    kept = result(WORDS, 1.0, {"version": "1", "arguments": {}, "gpu": {}})
    story = bench(fake, against="kept", baseline=kept, listeners=[told.append])
    assert (story.exit_code, "server.version: baseline '1', now '2'" in str(story.error)) == (2, True)
    assert story.measured.bench is not None
    assert len(tables(told)) == 1


def test_live_traffic_is_only_joined_when_that_is_said() -> None:
    fake = a_host(traffic="live")
    refused = bench(fake)
    assert (refused.exit_code, "--load" in str(refused.error)) == (2, True)
    assert bench(fake, load=True).exit_code == 0


def test_a_server_that_is_not_up_is_not_loaded() -> None:
    fake = a_host()
    fake.units["decode.service"].active = "failed"
    story = bench(fake)
    assert (story.exit_code, story.measured.bench) == (1, None)
    assert "job_start" not in fake.calls


def test_a_bench_that_proves_nothing_exits_3() -> None:
    assert bench(a_host(Loads(problems=("client-bound: 97% of its core",)))).exit_code == 3


def test_a_command_of_the_users_own_takes_no_options_and_is_inconclusive_by_itself() -> None:
    def script(argv: list[str]) -> dict[str, Any]:
        return {"lines": ["900 tok/s"], "exit": 0}

    fake = a_host(script, spec=BenchCommand("/root/tput.py"))
    assert bench(fake).exit_code == 3
    refused = bench(fake, load_options={"repeats": "3"})
    assert (refused.exit_code, "it takes no --repeats" in str(refused.error)) == (2, True)


class TellsRequests(FakeHost):
    """A host whose load generator tells three requests before the result."""

    def _job_poll(self, job: str, wait_s: float) -> dict[str, Any]:
        answer = super()._job_poll(job, wait_s)
        told = [{"event": "request", "request": {"concurrency": 1, "index": number}} for number in range(3)]
        return {**answer, "lines": [*map(json.dumps, told), *answer["lines"]]}


def test_every_request_is_told_where_a_file_is_to_hold_them() -> None:
    fake = TellsRequests(host=host(bench=SPEC), load=Loads())
    story = bench(fake, load_options={"output-file": "out.jsonl"})
    assert [request["index"] for request in story.measured.requests] == [0, 1, 2]
    assert "--tell-requests" in fake.jobs["1"]
    assert "--output-file" not in fake.jobs["1"]
    assert "requests" not in story.document()["bench"]


def test_a_dry_run_says_what_would_run_and_loads_nothing() -> None:
    told: list[Event] = []
    fake = a_host()
    story = bench(fake, dry_run=True, listeners=[told.append], load_options={"repeats": "2"})
    (said,) = [event.text for event in told if isinstance(event, Note)]
    assert said.startswith("would run: python -m runbook.load bench --base-url http://127.0.0.1:30001")
    assert (story.exit_code, fake.calls, fake.audit) == (0, ["observe"], [])


def test_ctrl_c_stops_the_load_on_the_host_and_is_recorded() -> None:
    fake = a_host()
    fake.mode = "running"
    operator = StopAt("StepStarted bench")
    work = work_on(fake, listeners=[operator], checkpoint=operator.checkpoint)
    story = rollout.bench(work, Options())
    assert (story.exit_code, story.measured.bench, len(fake.audit)) == (130, None, 1)
    assert fake.calls.index("job_start") < fake.calls.index("job_stop")
