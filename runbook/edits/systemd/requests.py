"""What may be asked of an edit of systemd's files."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from runbook.errors import EditRefusedError

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

_LONGEST = 64 * 1024
NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")


def check(wanted: Mapping[str, str], unwanted: Collection[str]) -> None:
    """Refuse names and values that systemd would ignore (`env_name_is_valid`, `env_value_is_valid`)."""
    for name in (*wanted, *unwanted):
        if not NAME.match(name):
            raise EditRefusedError(f"{name!r} is no variable name; use letters, digits and underscores")
        if name in wanted and name in unwanted:
            raise EditRefusedError(f"{name} is both set and unset; ask for one of them")
    for name, value in wanted.items():
        if "\0" in value or not encodes(value):
            raise EditRefusedError(
                f"the value of {name} is no UTF-8 text without NUL, and systemd would ignore it"
            )


def met(values: Mapping[str, str | None], wanted: Mapping[str, str], unwanted: Collection[str]) -> bool:
    """Whether these values are what is asked for."""
    right = all(values.get(name) == value for name, value in wanted.items())
    return right and not values.keys() & {*unwanted}


def check_text(text: str) -> None:
    """Refuse a file with a NUL, where systemd stops reading, and one that is no person's: its words are compared in pairs."""
    if len(text) > _LONGEST:
        raise EditRefusedError(f"the file has {len(text)} characters, at most {_LONGEST} are read")
    at = text.find("\0")
    if at >= 0:
        raise EditRefusedError("found a NUL byte; mend the file first", line=text.count("\n", 0, at) + 1)


def newline_of(text: str) -> str:
    """The line end a file uses."""
    return "\r\n" if "\r\n" in text else "\n"


def encodes(value: str) -> bool:
    """Whether a text can stand in a file of UTF-8."""
    try:
        value.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True
