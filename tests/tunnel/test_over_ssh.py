"""The tunnel through a real sshd to real ports."""

from __future__ import annotations

import contextlib
import http.server
import socket
import threading
from typing import TYPE_CHECKING

import pytest

from runbook import ssh
from runbook.errors import LinkLostError, TunnelCut, TunnelForbidden, TunnelRefused, TunnelTimeout
from runbook.tunnel import Tunnel
from tests import sshd

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from runbook.ssh.link import Link

pytestmark = pytest.mark.real


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[sshd.Sshd]:
    if sshd.binary() is None:
        pytest.skip("needs OpenSSH's sshd")
    with sshd.serving(tmp_path_factory.mktemp("sshd")) as running:
        yield running


@pytest.fixture
def link(server: sshd.Sshd) -> Iterator[Link]:
    with ssh.connect(server.target()) as link:
        yield link


class Health(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        body = self.path.encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_POST(self) -> None:
        self.path = self.rfile.read(int(self.headers["Content-Length"])).decode()
        self.do_GET()

    def log_message(self, format: str, *args: object) -> None:
        return


@pytest.fixture
def web() -> Iterator[str]:
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Health) as running:
        thread = threading.Thread(target=running.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        yield f"http://127.0.0.1:{running.server_address[1]}"
        running.shutdown()
        thread.join()


@contextlib.contextmanager
def answering(answer: Callable[[socket.socket], None]) -> Iterator[str]:
    """A port whose first caller gets what `answer` does with the connection."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()

        def serve() -> None:
            peer, _ = listener.accept()
            with peer:
                answer(peer)

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}/"
        thread.join(20)


def test_requests_reach_the_hosts_ports(link: Link, web: str) -> None:
    tunnel = Tunnel(link)
    assert tunnel.get(f"{web}/health", deadline_s=20).body == b"/health"
    assert tunnel.post_json(f"{web}/v1", {"a": 1}, deadline_s=20).body == b'{"a": 1}'


def test_a_closed_port_is_refused(link: Link) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        with pytest.raises(TunnelRefused, match="Connect failed"):
            Tunnel(link).get(f"http://127.0.0.1:{free.getsockname()[1]}/health", deadline_s=20)


def test_forbidden_forwarding_is_told_apart_from_a_closed_port(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    root = tmp_path_factory.mktemp("strict")
    with (
        sshd.serving(root, options=["AllowTcpForwarding no"]) as strict,
        ssh.connect(strict.target()) as link,
        pytest.raises(TunnelForbidden, match="AllowTcpForwarding"),
    ):
        Tunnel(link).get("http://127.0.0.1:1/", deadline_s=20)


def test_a_server_that_says_nothing_meets_the_deadline(link: Link) -> None:
    with (
        answering(_until_closed) as url,
        pytest.raises(TunnelTimeout),
    ):
        Tunnel(link).get(url, deadline_s=0.5)


def _until_closed(peer: socket.socket) -> None:
    peer.settimeout(20)
    with contextlib.suppress(OSError):
        while peer.recv(65536):
            pass


def test_a_body_that_breaks_off_is_cut(link: Link) -> None:
    def half(peer: socket.socket) -> None:
        peer.recv(65536)
        peer.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf")

    with answering(half) as url, pytest.raises(TunnelCut):
        Tunnel(link).get(url, deadline_s=20)


def test_a_link_cut_in_the_middle_is_a_lost_link_not_a_short_answer(link: Link) -> None:
    def cutting(peer: socket.socket) -> None:
        peer.recv(65536)
        peer.sendall(b"HTTP/1.1 200 OK\r\n\r\nhalf of a body that ends with the connection")
        link.transport.sock.close()

    with answering(cutting) as url, pytest.raises(LinkLostError):
        Tunnel(link).get(url, deadline_s=20)


def test_a_large_answer_arrives_whole(link: Link) -> None:
    body = bytes(range(256)) * 4000

    def large(peer: socket.socket) -> None:
        peer.recv(65536)
        peer.sendall(f"HTTP/1.1 200 OK\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body)

    with answering(large) as url:
        assert Tunnel(link).get(url, deadline_s=20).body == body
