"""What one request through the link can come to, over streams in memory."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pytest

from runbook.errors import LinkLostError, TunnelCut, TunnelError, TunnelRefused, TunnelTimeout
from runbook.tunnel import BODY_LIMIT_BYTES, Tunnel

if TYPE_CHECKING:
    from collections.abc import Callable

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"


@dataclass
class Clock:
    now: float = 0.0

    def __call__(self) -> float:
        return self.now


@dataclass
class FakeStream:
    """Answers with `pieces`, each taking `piece_s` seconds; then the end of the stream."""

    clock: Clock
    pieces: list[bytes | Exception]
    piece_s: float = 0.0
    sent: bytearray = field(default_factory=bytearray)
    closed: bool = False

    def read(self, max_bytes: int, timeout_s: float) -> bytes:
        assert timeout_s > 0
        self.clock.now += self.piece_s
        piece = self.pieces.pop(0) if self.pieces else b""
        if isinstance(piece, Exception):
            raise piece
        return piece

    def write(self, content: bytes, timeout_s: float) -> None:
        self.sent += content

    def is_readable(self) -> bool:
        return False

    def close(self) -> None:
        self.closed = True


@dataclass
class FakeLink:
    stream: FakeStream
    opened: list[tuple[str, int]] = field(default_factory=list)
    refuse: TunnelError | None = None

    def open_tcp(self, port: int, timeout_s: float, *, host: str = "127.0.0.1") -> FakeStream:
        self.opened.append((host, port))
        if self.refuse:
            raise self.refuse
        return self.stream


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def tunnel_to(clock: Clock) -> Callable[..., tuple[Tunnel, FakeLink]]:
    def make(*pieces: bytes | Exception, piece_s: float = 0.0) -> tuple[Tunnel, FakeLink]:
        link = FakeLink(FakeStream(clock, list(pieces), piece_s))
        return Tunnel(link, clock=clock), link

    return make


def test_a_whole_answer_comes_back_with_its_time(tunnel_to: Any) -> None:
    tunnel, link = tunnel_to(OK[:10], OK[10:], piece_s=0.25)
    response = tunnel.get("http://127.0.0.1:30002/health", deadline_s=3)
    assert (response.status, response.body, response.elapsed_s) == (200, b"ok", 0.5)
    assert link.opened == [("127.0.0.1", 30002)]
    assert link.stream.closed
    assert link.stream.sent.startswith(b"GET /health HTTP/1.1\r\nHost: 127.0.0.1:30002\r\n")


def test_no_proxy_of_the_environment_is_obeyed(tunnel_to: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "HTTP_PROXY", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://192.0.2.1:3128")
    tunnel, link = tunnel_to(OK)
    tunnel.get("http://127.0.0.1:30002/health", deadline_s=3)
    assert link.opened == [("127.0.0.1", 30002)]


def test_json_is_posted_with_headers_of_the_callers(tunnel_to: Any) -> None:
    tunnel, link = tunnel_to(OK)
    tunnel.post_json(
        "http://127.0.0.1:30001/v1/chat/completions",
        {"a": "é"},
        deadline_s=3,
        headers={"Authorization": "Bearer k"},
    )
    head, _, body = bytes(link.stream.sent).partition(b"\r\n\r\n")
    assert json.loads(body) == {"a": "é"}
    assert b"Authorization: Bearer k" in head
    assert b"Content-Type: application/json" in head


def test_a_status_is_the_callers_to_judge(tunnel_to: Any) -> None:
    tunnel, _ = tunnel_to(b"HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n")
    assert tunnel.get("http://127.0.0.1:1/", deadline_s=3).status == 503


def test_a_redirect_is_an_answer_not_a_way(tunnel_to: Any) -> None:
    tunnel, link = tunnel_to(
        b"HTTP/1.1 302 Found\r\nLocation: http://192.0.2.1/\r\nContent-Length: 0\r\n\r\n"
    )
    assert tunnel.get("http://127.0.0.1:1/", deadline_s=3).status == 302
    assert link.opened == [("127.0.0.1", 1)]


def test_many_quick_bytes_do_not_outlast_the_deadline(tunnel_to: Any, clock: Clock) -> None:
    trickle = [b"HTTP/1.1 200 OK\r\n", *([b"X-A: b\r\n"] * 1000)]
    tunnel, link = tunnel_to(*trickle, piece_s=0.1)
    with pytest.raises(TunnelTimeout, match="no whole answer within 3 s"):
        tunnel.get("http://127.0.0.1:30002/health", deadline_s=3)
    assert clock.now == pytest.approx(3.0, abs=0.2)
    assert link.stream.closed


@pytest.mark.parametrize(
    "pieces",
    [
        [b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf"],
        [b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello"],
        [b"HTTP/1.1 200"],
        [b"SSH-2.0-OpenSSH_9.2\r\n"],
        [],
    ],
    ids=["length", "chunked", "head", "other", "nothing"],
)
def test_an_answer_that_breaks_off_is_cut_not_short(tunnel_to: Any, pieces: list[bytes]) -> None:
    tunnel, _ = tunnel_to(*pieces)
    with pytest.raises(TunnelCut, match=r"http://127\.0\.0\.1:30002/health: "):
        tunnel.get("http://127.0.0.1:30002/health", deadline_s=3)


def test_an_answer_without_end_is_bounded(tunnel_to: Any) -> None:
    head = f"HTTP/1.1 200 OK\r\nContent-Length: {BODY_LIMIT_BYTES + 1}\r\n\r\n".encode()
    tunnel, _ = tunnel_to(head, *[b"x" * 65536] * 17)
    with pytest.raises(TunnelCut, match="longer than 1048576 bytes"):
        tunnel.get("http://127.0.0.1:30002/metrics", deadline_s=3)


@pytest.mark.parametrize("error", [TunnelRefused("refused"), TunnelTimeout("late")])
def test_a_port_that_does_not_open_is_told_as_it_is(tunnel_to: Any, error: TunnelError) -> None:
    tunnel, link = tunnel_to()
    link.refuse = error
    with pytest.raises(TunnelError) as caught:
        tunnel.get("http://127.0.0.1:30002/health", deadline_s=3)
    assert caught.value is error


def test_a_link_lost_in_the_middle_is_no_answer_of_the_server(tunnel_to: Any) -> None:
    tunnel, _ = tunnel_to(OK[:20], LinkLostError("the SSH connection was lost"))
    with pytest.raises(LinkLostError):
        tunnel.get("http://127.0.0.1:30002/health", deadline_s=3)


@pytest.mark.parametrize("url", ["https://127.0.0.1:30002/", "ftp://127.0.0.1/", "http://", "health"])
def test_a_url_that_cannot_be_asked_is_an_error_of_the_tunnel(tunnel_to: Any, url: str) -> None:
    tunnel, _ = tunnel_to(OK)
    with pytest.raises(TunnelError):
        tunnel.get(url, deadline_s=3)


def test_a_compressed_answer_is_not_asked_for(tunnel_to: Any) -> None:
    tunnel, link = tunnel_to(OK)
    tunnel.get("http://127.0.0.1:30002/", deadline_s=3)
    assert b"Accept-Encoding: identity" in link.stream.sent


@pytest.mark.parametrize("tail", ["\n", "\x00", "é"])
def test_a_header_that_cannot_be_sent_is_not_quoted_since_it_may_be_the_key(
    tunnel_to: Any, tail: str
) -> None:
    tunnel, _ = tunnel_to(OK)
    with pytest.raises(TunnelCut) as caught:
        tunnel.get(
            "http://127.0.0.1:1/", deadline_s=1.0, headers={"Authorization": f"Bearer the-secret{tail}"}
        )
    assert "the-secret" not in str(caught.value)
    assert caught.value.__cause__ is None
