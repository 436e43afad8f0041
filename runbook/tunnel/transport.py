"""httpx over SSH channels: httpcore's NetworkBackend is the seam."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import httpcore

from runbook import lean
from runbook.errors import TunnelCut, TunnelError

with lean.without("httpx._main", "main"):  # its command line, with click and rich: half of the import
    import httpx

if TYPE_CHECKING:
    import ssl
    from collections.abc import Iterable, Iterator, Mapping

    from runbook.tunnel import Deadline, Opener, Stream


class ChannelStream(httpcore.NetworkStream):
    """A stream of the link as httpcore wants it; the request's deadline bounds every wait."""

    def __init__(self, stream: Stream, deadline: Deadline) -> None:
        self._stream = stream
        self._deadline = deadline

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        return self._stream.read(max_bytes, self._deadline.left())

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        self._stream.write(buffer, self._deadline.left())

    def close(self) -> None:
        self._stream.close()

    def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore.NetworkStream:
        raise TunnelError(
            "https is not spoken through the tunnel: SSH encrypts the way, name the port with http"
        )

    def get_extra_info(self, info: str) -> Any:
        return self._stream.is_readable() if info == "is_readable" else None


class ChannelBackend(httpcore.NetworkBackend):
    """Connections are channels of the link."""

    def __init__(self, link: Opener, deadline: Deadline) -> None:
        self._link = link
        self._deadline = deadline

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.NetworkStream:
        return ChannelStream(self._link.open_tcp(port, self._deadline.left(), host=host), self._deadline)


class ChannelTransport(httpx.BaseTransport):
    """An httpx transport over one link for one request's deadline."""

    def __init__(self, link: Opener, deadline: Deadline) -> None:
        self._pool = httpcore.ConnectionPool(
            network_backend=ChannelBackend(link, deadline), max_keepalive_connections=0
        )

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        url = httpcore.URL(
            scheme=request.url.raw_scheme,
            host=request.url.raw_host,
            port=request.url.port,
            target=request.url.raw_path,
        )
        asked = httpcore.Request(request.method, url, headers=request.headers.raw, content=request.read())
        answer = self._pool.handle_request(asked)
        return httpx.Response(answer.status, headers=answer.headers, stream=Body(answer))

    def close(self) -> None:
        self._pool.close()


class Body(httpx.SyncByteStream):
    """An answer's body as httpx reads it."""

    def __init__(self, answer: httpcore.Response) -> None:
        self._answer = answer

    def __iter__(self) -> Iterator[bytes]:
        yield from self._answer.iter_stream()

    def close(self) -> None:
        self._answer.close()


def client(link: Opener, deadline: Deadline) -> httpx.Client:
    """A client whose requests go through the link; no proxy, no environment, no certificate store."""
    return httpx.Client(transport=ChannelTransport(link, deadline), trust_env=False, timeout=deadline.seconds)


def exchange(
    link: Opener,
    deadline: Deadline,
    method: str,
    url: str,
    content: bytes | None,
    headers: Mapping[str, str],
    limit_bytes: int,
) -> tuple[int, bytes]:
    """Status and whole body of one request; what httpx and httpcore raise becomes TunnelError here."""
    asked = {"Accept-Encoding": "identity", "Connection": "close", **headers}
    try:
        with (
            client(link, deadline) as http,
            http.stream(method, url, content=content, headers=asked) as answer,
        ):
            return answer.status_code, _body(answer, limit_bytes)
    except (httpx.LocalProtocolError, httpcore.LocalProtocolError, UnicodeError):
        # Their words quote the header they refuse, which may be the one with the key.
        raise TunnelCut(f"{url}: the request holds what HTTP cannot carry") from None
    except (httpx.HTTPError, httpx.InvalidURL, httpcore.ProtocolError, httpcore.UnsupportedProtocol) as error:
        raise TunnelCut(f"{url}: {error or type(error).__name__}") from error


def _body(answer: httpx.Response, limit_bytes: int) -> bytes:
    body = bytearray()
    for chunk in answer.iter_raw():
        body += chunk
        if len(body) > limit_bytes:
            raise TunnelCut(f"{answer.request.url}: the answer is longer than {limit_bytes} bytes")
    return bytes(body)
