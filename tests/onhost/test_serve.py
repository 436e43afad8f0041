"""One call after the other, pings at once, an end with the link: the loop in this process, over pipes."""

from __future__ import annotations

import contextlib
import io
import os
import queue
import threading
from typing import TYPE_CHECKING, Any

import pytest

from runbook.onhost import frames, serve
from runbook.onhost.session import Session

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.real


class Served:
    """A server in a thread; `ask` puts requests in, `answers` are what it sent."""

    def __init__(self, *, silence_s: float = 45.0, mode: str = "running") -> None:
        self.requests: queue.SimpleQueue[Any] = queue.SimpleQueue()
        read_end, write_end = os.pipe()
        self.session = Session(mode)
        self.out = os.fdopen(write_end, "wb")
        self.back = os.fdopen(read_end, "rb")
        self.answers = frames.read(self.back)
        self.code: int | None = None
        server = serve.Server(self.session, self.out, silence_s=silence_s)
        self.thread = threading.Thread(target=self._run, args=(server,), daemon=True)
        self.thread.start()

    def _run(self, server: serve.Server) -> None:
        self.code = server.serve(iter(self.requests.get, None))

    def ask(self, number: int, name: str, **args: Any) -> None:
        self.requests.put({"id": number, "call": name, "args": args})

    def end(self) -> None:
        self.requests.put(None)
        self.thread.join(20)

    def close(self) -> None:
        self.end()
        self.out.close()
        self.back.close()


@pytest.fixture
def served() -> Iterator[Served]:
    with contextlib.closing(Served()) as one:
        yield one


def test_calls_are_answered_in_order(served: Served) -> None:
    for number in (1, 2, 3):
        served.ask(number, "cache_has", state="/nonexistent", digest="0" * 64)
    assert [next(served.answers) for _ in range(3)] == [{"id": number, "ok": False} for number in (1, 2, 3)]


def test_a_ping_does_not_wait_for_the_call_in_progress(served: Served) -> None:
    served.ask(1, "job_start", argv=["sleep", "60"])
    job = next(served.answers)["ok"]["job"]
    served.ask(2, "job_poll", job=job, wait_s=60.0)
    served.ask(3, "ping")
    assert next(served.answers) == {"id": 3, "ok": {}}


def test_the_end_of_the_link_stops_jobs_and_a_poll_that_waits_for_one(served: Served) -> None:
    served.ask(1, "job_start", argv=["sleep", "60"])
    started = next(served.answers)["ok"]
    served.ask(2, "job_poll", job=started["job"], wait_s=60.0)
    served.end()
    assert not served.thread.is_alive()
    assert served.code == 0
    assert served.session.jobs.get(started["job"]).poll(0)["exit"] == -15


def test_silence_is_an_end_too() -> None:
    with contextlib.closing(Served(silence_s=0.2)) as served:
        served.thread.join(20)
        assert served.code == 0


def test_a_refusal_is_an_answer_and_the_next_call_works(served: Served) -> None:
    served.ask(1, "files_write", changes=[])
    served.ask(2, "cache_has", state="/nonexistent", digest="0" * 64)
    assert next(served.answers)["error"]["kind"] == "refused"
    assert next(served.answers)["ok"] is False


def test_a_defect_of_ours_is_told_and_ends_the_helper() -> None:
    out = io.BytesIO()
    server = serve.Server(Session("reading"), out)
    requests: queue.SimpleQueue[Any] = queue.SimpleQueue()
    requests.put({"id": 1, "call": "observe", "args": {"state": 5}})
    with pytest.raises(TypeError):
        server.serve(iter(requests.get, None))
    requests.put(None)
    answer = next(frames.read(io.BytesIO(out.getvalue())))
    assert answer["error"]["kind"] == "internal"
    assert "TypeError" in answer["error"]["message"]


@pytest.mark.parametrize("noise", [[], "x", 0, {"id": 1}, {"call": "ping"}, {"id": 1, "call": 5}])
def test_what_is_no_request_ends_the_helper(noise: Any) -> None:
    with contextlib.closing(Served()) as served:
        served.requests.put(noise)
        served.thread.join(20)
        assert served.code == 0
