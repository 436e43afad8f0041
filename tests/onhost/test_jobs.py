"""Jobs: their lines as they come, their end, and nothing of them left."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import pytest

from runbook.errors import MissingOnHostError, PreflightError
from runbook.onhost import frames, jobs
from runbook.ssh import InProcessWire
from tests.onhost.helper import alive, eventually

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.real


@pytest.fixture
def running() -> Iterator[InProcessWire]:
    with InProcessWire("running") as wire:
        yield wire


def sh(wire: InProcessWire, text: str, **more: Any) -> str:
    job: str = wire.call("job_start", argv=["sh", "-c", text], **more)["job"]
    return job


def to_the_end(wire: InProcessWire, job: str) -> dict[str, Any]:
    lines: list[str] = []
    stderr = ""
    for _ in range(10_000):
        answer = wire.call("job_poll", job=job, wait_s=20.0)
        lines, stderr = [*lines, *answer["lines"]], stderr + answer["stderr"]
        if answer["exit"] is not None:
            return {"lines": lines, "stderr": stderr, "exit": answer["exit"]}
    raise AssertionError("the job did not end")


def test_lines_stderr_and_exit_arrive(running: InProcessWire) -> None:
    job = sh(running, "echo one; echo two >&2; printf 'three without end'; exit 3")
    assert to_the_end(running, job) == {"lines": ["one", "three without end"], "stderr": "two\n", "exit": 3}


def test_a_line_is_told_before_the_job_ends(running: InProcessWire, tmp_path: Path) -> None:
    job = sh(running, f"echo ready; while [ ! -e {tmp_path}/go ]; do sleep 0.02; done; echo done")
    assert running.call("job_poll", job=job, wait_s=20.0) == {"lines": ["ready"], "stderr": "", "exit": None}
    assert running.call("job_poll", job=job, wait_s=0.0)["exit"] is None
    (tmp_path / "go").touch()
    assert to_the_end(running, job)["lines"] == ["done"]


def test_its_environment_directory_and_input_are_what_was_asked(
    running: InProcessWire, tmp_path: Path
) -> None:
    job = sh(running, 'echo "$A"; pwd -P; cat', env={"A": "x y"}, cwd=str(tmp_path), stdin="in\nput\n")
    assert to_the_end(running, job)["lines"] == ["x y", str(tmp_path.resolve()), "in", "put"]


def test_without_input_it_reads_an_end(running: InProcessWire) -> None:
    assert to_the_end(running, sh(running, "cat; echo end"))["lines"] == ["end"]


def test_ten_thousand_lines_lose_none(running: InProcessWire) -> None:
    job = sh(running, "i=0; while [ $i -lt 10000 ]; do echo $i; i=$((i+1)); done")
    assert to_the_end(running, job)["lines"] == [str(number) for number in range(10_000)]


def test_bytes_that_are_no_text_do_not_stop_it(running: InProcessWire) -> None:
    job = sh(running, r"printf 'a\377b\n\000\n'")
    assert to_the_end(running, job)["lines"] == ["a�b", "\x00"]


def test_a_signal_is_a_negative_exit(running: InProcessWire) -> None:
    assert to_the_end(running, sh(running, "kill -9 $$"))["exit"] == -9


def test_a_program_that_is_not_there_is_missing(running: InProcessWire) -> None:
    with pytest.raises(MissingOnHostError, match="/no/such/python is not on this host"):
        running.call("job_start", argv=["/no/such/python"])
    with pytest.raises(PreflightError, match="no job named"):
        running.call("job_poll", job="job-9")


def test_stopping_reaches_the_whole_group_and_what_ignores_it(running: InProcessWire) -> None:
    job = sh(running, "trap '' TERM; (trap '' TERM; sleep 60) & echo $!; sleep 60; sleep 60")
    child = int(running.call("job_poll", job=job, wait_s=20.0)["lines"][0])
    assert running.call("job_stop", job=job, grace_s=0.2)["exit"] == -9
    assert eventually(lambda: not alive(child))


def test_a_job_that_obeys_ends_by_its_own_code(running: InProcessWire) -> None:
    job = sh(running, "trap 'exit 7' TERM; echo up; while :; do sleep 0.02; done")
    running.call("job_poll", job=job, wait_s=20.0)
    assert running.call("job_stop", job=job, grace_s=20.0)["exit"] == 7


def test_output_held_open_by_a_stray_child_does_not_hide_the_end(running: InProcessWire) -> None:
    job = sh(running, "setsid sleep 30 & echo $!; exit 0")
    found = to_the_end(running, job)
    assert found["exit"] == 0
    os.kill(int(found["lines"][0]), 9)


def test_closing_the_session_ends_every_job() -> None:
    with InProcessWire("running") as wire:
        pids = [wire.call("job_start", argv=["sh", "-c", "trap '' TERM; sleep 60"])["pid"] for _ in range(3)]
    assert eventually(lambda: not any(alive(pid) for pid in pids))


def test_jobs_have_a_session_of_their_own(running: InProcessWire) -> None:
    job = running.call("job_start", argv=["sleep", "20"])
    assert os.getsid(job["pid"]) == job["pid"]
    running.call("job_stop", job=job["job"], grace_s=1.0)


def test_a_job_whose_lines_never_end_is_kept_back_by_their_size_and_told_in_answers_that_fit() -> None:
    face = "\N{GRINNING FACE}"
    job = jobs.Job(
        ["sh", "-c", f"line=$(yes {face} | head -n 200000 | tr -d '\\n'); while :; do echo \"$line\"; done"],
        {},
        None,
        None,
    )
    try:
        assert eventually(lambda: job._characters >= jobs._BACKLOG_CHARACTERS, 60)
        assert job._characters < jobs._BACKLOG_CHARACTERS + 200_001
        answer = job.poll(1.0)
        assert set(map(len, answer["lines"])) == {200_000}
        assert len(frames.encode({"id": 1, "ok": answer})) < frames.LIMIT_BYTES
        assert job._characters < jobs._BACKLOG_CHARACTERS
    finally:
        job.stop(0.1)
