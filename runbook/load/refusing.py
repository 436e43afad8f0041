"""What a command line of the load generator is refused for, in one line that says which option."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runbook.load import apikey

if TYPE_CHECKING:
    from collections.abc import Mapping


class BadArgumentsError(ValueError):
    """The command line contradicts itself or makes no sense; one line."""


def expect(holds: bool, message: str) -> None:
    """Raise BadArgumentsError unless it holds."""
    if not holds:
        raise BadArgumentsError(message)


def api_key(name: str | None, environ: Mapping[str, str]) -> str | None:
    """The key in the variable that --api-key-env names; raises BadArgumentsError."""
    if name is None:
        return None
    try:
        return apikey.read(name, environ)
    except apikey.BadKey as error:
        raise BadArgumentsError(f"--api-key-env: {error}") from None
