"""A host that answers with anything but answers: the wire ends at once and says so, and nothing else happens."""

from __future__ import annotations

import json
import queue
import threading
from typing import TYPE_CHECKING, Any, cast

import pytest

from runbook.errors import LinkLostError
from runbook.onhost import frames
from runbook.ssh.remote import RemoteWire
from runbook.ssh.start import Started

if TYPE_CHECKING:
    import paramiko


class Channel:
    """What a wire uses of a channel; `says` is what the host sends once it was asked something."""

    def __init__(self, says: list[bytes]) -> None:
        self._says = says
        self._incoming: queue.Queue[bytes] = queue.Queue()
        self.status_event = threading.Event()
        self.exit_status = -1
        self.closed = False

    def sendall(self, content: bytes) -> None:
        for chunk in self._says:
            self._incoming.put(chunk)

    def recv(self, size: int) -> bytes:
        return self._incoming.get()

    def recv_stderr_ready(self) -> bool:
        return False

    def shutdown_write(self) -> None:
        self.status_event.set()

    def close(self) -> None:
        self.closed = True
        self.status_event.set()
        self._incoming.put(b"")


def asked(*says: bytes) -> str:
    """Why the wire was lost after one question."""
    channel = cast("paramiko.Channel", Channel(list(says)))
    with RemoteWire(Started(channel, b""), "writing", "gpu1") as wire:
        with pytest.raises(LinkLostError) as caught:
            wire.call("observe", deadline_s=20.0)
        with pytest.raises(LinkLostError):
            wire.call("observe", deadline_s=20.0)
    return str(caught.value)


def frame(body: bytes) -> bytes:
    return len(body).to_bytes(4, "big") + body


NO_ANSWERS: list[Any] = [
    None,
    [],
    "ok",
    {},
    {"id": 1},
    {"id": 1, "error": None},
    {"id": 1, "error": "failed"},
    {"id": 1, "error": {"kind": "failed"}},
    {"id": 1, "error": {"kind": "failed", "message": "m", "data": ["unit"]}},
]


@pytest.mark.parametrize(
    "says",
    [
        b"\xff\xff\xff\xff",
        b"Segmentation fault\n",
        frame(b"no json"),
        frame(b"[" * 200_000),
        frame(b"\xff\xfe"),
        *map(frames.encode, NO_ANSWERS),
    ],
)
def test_what_is_no_answer_ends_the_wire_and_is_said(says: bytes) -> None:
    assert "gpu1: the link was lost during `observe`: " in asked(says)


def test_an_answer_nobody_waits_for_is_not_kept() -> None:
    answers: list[Any] = [{"id": number, "ok": "x" * 1000} for number in (7, "1", None, 1.5, -1)]
    assert "closed" in asked(*map(frames.encode, answers), b"")


def test_numbers_that_are_none_in_json_are_no_answer() -> None:
    body = json.dumps({"id": 1, "ok": float("nan")}).encode()
    assert "no JSON" in asked(frame(body))
