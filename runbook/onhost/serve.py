"""The helper's loop: calls one at a time and in order, pings at once, and an end when the link is silent or gone."""

from __future__ import annotations

import contextlib
import os
import queue
import threading
import time

from runbook.onhost import frames
from runbook.onhost.dispatch import answer, defect, is_request

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import IO, Any, Callable

    from runbook.onhost.session import Session

SILENCE_S = 45.0  # without any frame the controller is gone; it pings every 10 s
_FINISH_S = 10.0  # how long a call in progress may take to end after the link did


class Server:
    """One session served over one pair of streams."""

    def __init__(
        self,
        session: Session,
        out: IO[bytes],
        *,
        silence_s: float = SILENCE_S,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._session = session
        self._out = out
        self._silence_s = silence_s
        self._clock = clock
        self._heard_at = clock()
        self._requests: queue.SimpleQueue[dict[str, Any]] = queue.SimpleQueue()
        self._sending = threading.Lock()
        self._ended = threading.Event()
        self._finished = threading.Event()

    def serve(self, incoming: Iterator[Any]) -> int:
        """Answer until the link ends; the exit code. A defect of ours is answered, and ends the helper."""
        for run in (lambda: self._read(incoming), self._listen_for_silence):
            threading.Thread(target=run, daemon=True).start()
        while not self._ended.is_set():
            request = self._requests.get()
            if request:
                self._answer(request)
        self._session.close()
        self._finished.set()
        return 0

    def _answer(self, request: dict[str, Any]) -> None:
        try:
            self.send(answer(request, self._session))
        except BaseException as error:
            self.send(defect(request, error))
            self._finished.set()
            raise

    def send(self, document: Any) -> None:
        """One frame to the controller; a link that is gone is noticed, not raised."""
        try:
            with self._sending:
                self._out.write(frames.encode(document))
                self._out.flush()
        except OSError:
            self._end()

    def _read(self, incoming: Iterator[Any]) -> None:
        with contextlib.suppress(OSError, frames.FrameError):
            for request in incoming:
                self._heard_at = self._clock()
                self._take(request)
        self._end()

    def _take(self, request: Any) -> None:
        """Pings never wait for the call in progress. FrameError for what is no request: whoever speaks is not ours."""
        if not is_request(request):
            raise frames.FrameError("a frame is no request")
        if request["call"] == "ping":
            self.send({"id": request["id"], "ok": {}})
        else:
            self._requests.put(request)

    def _listen_for_silence(self) -> None:
        while not self._ended.wait(1.0):
            if self._clock() - self._heard_at > self._silence_s:
                self._end()
        if not self._finished.wait(_FINISH_S):
            os._exit(1)

    def _end(self) -> None:
        """No more calls; the jobs stop at once, which also ends a poll that waits for one."""
        if not self._ended.is_set():
            self._ended.set()
            self._requests.put({})
            self._session.jobs.stop_all()
