"""What a command line of the load generator is refused for, in one line that says which option."""

from __future__ import annotations

import argparse
import json
import os
from typing import TYPE_CHECKING, Any, NoReturn

from runbook.load import apikey

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path


class BadArgumentsError(ValueError):
    """The command line contradicts itself or makes no sense; one line."""


class _Parser(argparse.ArgumentParser):
    """Raises where argparse would print its usage and leave."""

    def error(self, message: str) -> NoReturn:
        raise BadArgumentsError(
            message.removeprefix("argument ").replace("expected one argument", "wants a value")
        )


def parsed(
    words: Sequence[str], add_arguments: Callable[[argparse.ArgumentParser], None]
) -> argparse.Namespace:
    """The words of a command that is not run by its own command line, such as a host file's. Raises BadArgumentsError."""
    parser = _Parser(add_help=False, allow_abbrev=False)
    add_arguments(parser)
    return parser.parse_args(words)


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


def extra_body(text: str) -> dict[str, Any]:
    """The object that --extra-body adds to every request; raises BadArgumentsError."""
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise BadArgumentsError(f"--extra-body is no JSON: {error}") from None
    if not isinstance(document, dict):
        raise BadArgumentsError(f"--extra-body should be a JSON object, found {text[:80]}")
    return document


def may_write(path: Path) -> bool:
    """Whether a file can be written there, or made, once the load is over."""
    try:
        if path.exists():
            return not path.is_dir() and os.access(path, os.W_OK)
    except OSError:  # of a name that is too long for a file
        return False
    folder = path.absolute().parent
    return folder.is_dir() and os.access(folder, os.W_OK | os.X_OK)
