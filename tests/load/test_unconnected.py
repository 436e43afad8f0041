from __future__ import annotations

import asyncio
import socket

import httpx
import pytest

from runbook.load import unconnected
from runbook.load.client import open_client

NOBODY = "http://127.0.0.1:9"


def behind(error: Exception, cause: BaseException) -> Exception:
    error.__cause__ = cause
    return error


@pytest.mark.parametrize(
    ("error", "want"),
    [
        (ConnectionRefusedError(111, "Connect call failed"), "Connection refused"),
        (behind(httpx.ConnectError("All connection attempts failed"), OSError(113, "x")), "No route to host"),
        (socket.gaierror(-2, "Name or service not known"), "Name or service not known"),
        (TimeoutError(), "no connection in time"),
        (httpx.ConnectTimeout(""), "no connection in time"),
        (httpx.ConnectError("[SSL] certificate verify failed"), "[SSL] certificate verify failed"),
        (OSError("Multiple exceptions: …"), "Multiple exceptions: …"),
        (OSError(), "OSError"),
    ],
)
def test_why_nobody_could_be_reached(error: Exception, want: str) -> None:
    assert unconnected.why(error) == want


@pytest.mark.real
def test_both_clients_say_the_same_of_a_closed_port() -> None:
    async def over_httpx() -> str:
        async with open_client(NOBODY, connections=1) as client:
            with pytest.raises(httpx.ConnectError) as caught:
                await client.get("/")
        return unconnected.why(caught.value)

    async def over_a_socket() -> str:
        with pytest.raises(OSError, match="9") as caught:
            await asyncio.get_running_loop().create_connection(asyncio.Protocol, "127.0.0.1", 9)
        return unconnected.why(caught.value)

    assert asyncio.run(over_httpx()) == asyncio.run(over_a_socket()) == "Connection refused"
