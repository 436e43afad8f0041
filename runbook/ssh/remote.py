"""The wire over an SSH channel: framed calls with a deadline each, and pings that keep the helper alive."""

from __future__ import annotations

import collections
import contextlib
import itertools
import threading
import time
from typing import TYPE_CHECKING, Any

from runbook.errors import LinkLostError
from runbook.onhost import frames
from runbook.ssh import wire
from runbook.ssh.broken import BROKEN, close
from runbook.ssh.row import Asked

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from types import TracebackType

    from runbook.ssh.start import Started

PING_EVERY_S = 10.0
SILENCE_S = 35.0  # three pings unanswered: the link is dead, although nothing has said so
_GOODBYE_S = 5.0
_STDERR_LIMIT = 4096


class RemoteWire:
    """Calls over one channel, one at a time. A call whose deadline passes ends the wire: what it did is unknown."""

    def __init__(
        self,
        started: Started,
        mode: wire.Mode,
        label: str,
        *,
        ping_every_s: float = PING_EVERY_S,
        silence_s: float = SILENCE_S,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.mode = mode
        self._label = label
        self._channel = started.channel
        self._ping_every_s, self._silence_s, self._clock = ping_every_s, silence_s, clock
        self._ids = itertools.count(1)
        self._awaited = {0}  # the helper's first word comes unasked
        self._ahead: collections.deque[tuple[Asked, int]] = collections.deque()
        self._answers: dict[int, Any] = {}
        self._arrived = threading.Condition()
        self._sending = threading.Lock()
        self._heard_at = clock()
        self._stderr = b""
        self._lost: str | None = None
        self._reader = threading.Thread(
            target=self._read, args=(started.rest,), daemon=True, name="runbook-wire"
        )
        self._reader.start()
        self._pinger = threading.Thread(target=self._ping, daemon=True, name="runbook-ping")
        self._pinger.start()

    def hello(self, deadline_s: float) -> dict[str, Any]:
        """The helper's first word: `{"pid", "python"}`, or why it will not serve."""
        found: dict[str, Any] = wire.value(self._await(0, "start", deadline_s), "start")
        return found

    def call(self, name: str, /, *, deadline_s: float = 60.0, **args: Any) -> Any:
        """The value of a call on the host; raises `runbook.errors`, LinkLostError after `deadline_s` seconds."""
        return wire.value(self.answer(name, deadline_s=deadline_s, **args), name)

    def answer(self, name: str, /, *, deadline_s: float = 60.0, **args: Any) -> Mapping[str, Any]:
        """The whole answer of a call, an error's too; raises LinkLostError after `deadline_s` seconds."""
        asked = Asked(name, args)
        number = self._asked_ahead(asked) or self._ask(asked)
        found: Mapping[str, Any] = self._await(number, name, deadline_s)
        return found

    def ask_ahead(self, *row: Asked) -> None:
        """Ask what the first calls will ask, in their order, so that the host is at it while we get ready to hear.

        Only for calls that read. A first call that is another one lets all these answers go: they would be older than it.
        A helper that is gone already is left to `hello` to tell of.
        """
        with contextlib.suppress(*BROKEN), self._sending:
            for one in row:
                number = next(self._ids)
                self._awaited.add(number)
                self._channel.sendall(_request(number, one))
                self._ahead.append((one, number))

    def _asked_ahead(self, asked: Asked) -> int | None:
        with self._arrived:
            if self._ahead and self._ahead[0][0] == asked:
                return self._ahead.popleft()[1]
            for _, number in self._ahead:
                self._awaited.discard(number)
                self._answers.pop(number, None)
            self._ahead.clear()
        return None

    def _ask(self, asked: Asked) -> int:
        number = next(self._ids)
        self._send(number, asked)
        return number

    def _send(self, number: int, asked: Asked) -> None:
        with self._sending:
            if self._lost is not None:
                raise self._gone(asked.name)
            self._awaited.add(number)
            try:
                self._channel.sendall(_request(number, asked))
            except BROKEN:
                self._lose("the connection is closed")
                raise self._gone(asked.name) from None

    def _await(self, number: int, name: str, deadline_s: float) -> Any:
        with self._arrived:
            self._arrived.wait_for(
                lambda: number in self._answers or self._lost is not None, timeout=deadline_s
            )
            self._awaited.discard(number)
            if number in self._answers:
                return self._answers.pop(number)
        if self._lost is None:
            self._lose(f"no answer within {deadline_s:g} s")
            close(self._channel)
        raise self._gone(name)

    def _gone(self, name: str) -> LinkLostError:
        return LinkLostError(f"{self._label}: the link was lost during `{name}`: {self._lost}")

    def _lose(self, why: str) -> None:
        with self._arrived:
            self._lost = self._lost or why
            self._arrived.notify_all()

    def _read(self, rest: bytes) -> None:
        """Frames until the channel ends; a thread of its own, so that no answer is ever left lying."""
        decoder = frames.Decoder()
        chunk = rest
        try:
            while True:
                self._take(decoder.feed(chunk))
                chunk = self._channel.recv(65536)
                if not chunk:
                    break
        except (*BROKEN, frames.FrameError) as error:
            self._lose(str(error))
        self._lose(self._ending())

    def _take(self, documents: list[Any]) -> None:
        with self._arrived:
            self._heard_at = self._clock()
            for one in documents:
                self._keep(one)
            self._arrived.notify_all()

    def _keep(self, answer: Any) -> None:
        """Keep an answer somebody waits for; a ping's only says that the helper lives."""
        if not wire.is_answer(answer):
            raise frames.FrameError("the host sent something that is no answer")
        number = answer.get("id")
        if isinstance(number, int) and number in self._awaited:
            self._answers[number] = answer

    def _ending(self) -> str:
        """Why the channel ended: the helper's exit and last words, or nothing at all, which is a dead connection."""
        self._drain()
        if not self._channel.status_event.wait(1.0) or self._channel.exit_status < 0:
            return "the connection is closed"
        last = "".join(f"\n  {line}" for line in self._stderr.decode("utf-8", "replace").splitlines()[-10:])
        return f"the helper ended (exit {self._channel.exit_status}){last}"

    def _drain(self) -> None:
        """Take in stderr, which shares the channel's window: left lying it would stop the answers."""
        while self._channel.recv_stderr_ready():
            chunk = self._channel.recv_stderr(65536)
            if not chunk:
                return
            self._stderr = (self._stderr + chunk)[-_STDERR_LIMIT:]

    def _ping(self) -> None:
        while not self._ended(self._ping_every_s):
            self._drain()
            if self._clock() - self._heard_at > self._silence_s:
                self._lose(f"nothing was heard for {self._silence_s:g} s")
                close(self._channel)
            elif self._sending.acquire(timeout=self._ping_every_s):
                # A request still on its way out is a sign of life by itself, once it moves.
                self._sending.release()
                self._send_ping()

    def _ended(self, within_s: float) -> bool:
        with self._arrived:
            return self._arrived.wait_for(lambda: self._lost is not None, timeout=within_s)

    def _send_ping(self) -> None:
        try:
            self._send(-1, Asked("ping", {}))
        except LinkLostError:
            return

    def close(self) -> None:
        """End the helper; of a wire that runs or writes, returns when all it started is gone and the lock free."""
        if self._lost is None:
            self._lose("it was closed")
            self._say_goodbye()
        close(self._channel)
        self._reader.join(_GOODBYE_S)
        self._pinger.join(_GOODBYE_S)

    def _say_goodbye(self) -> None:
        try:
            self._channel.shutdown_write()
        except BROKEN:
            return
        if self.mode != "reading":  # a reading helper leaves nothing to wait for
            self._channel.status_event.wait(_GOODBYE_S)

    def __enter__(self) -> RemoteWire:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _request(number: int, asked: Asked) -> bytes:
    return frames.encode({"id": number, "call": asked.name, "args": asked.args})
