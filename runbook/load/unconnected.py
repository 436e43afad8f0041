"""Why a server could not be connected to, in the same words whichever client tried."""

from __future__ import annotations

import asyncio
import os
import socket
from typing import TYPE_CHECKING

import httpx

if TYPE_CHECKING:
    from collections.abc import Iterator


def why(error: BaseException) -> str:
    """`Connection refused`, `Name or service not known`, `no connection in time`: the first cause of an error."""
    causes = list(_causes(error))
    if any(isinstance(cause, (asyncio.TimeoutError, TimeoutError, httpx.ConnectTimeout)) for cause in causes):
        return "no connection in time"
    numbered = [cause for cause in causes if isinstance(cause, OSError) and cause.errno is not None]
    if numbered:
        return _strerror(numbered[-1])
    return (str(error) or type(error).__name__)[:200]


def _strerror(error: OSError) -> str:
    if isinstance(error, socket.gaierror):
        return error.strerror or str(error)
    return os.strerror(error.errno or 0)


def _causes(error: BaseException) -> Iterator[BaseException]:
    seen: BaseException | None = error
    while seen is not None:
        yield seen
        seen = seen.__cause__ or seen.__context__
