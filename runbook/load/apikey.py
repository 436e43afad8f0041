"""An endpoint's key from the environment, in a form that an HTTP header may carry."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping


class BadKey(ValueError):
    """The variable holds no usable key; `str()` names the variable, never the key."""


def read(name: str, environ: Mapping[str, str]) -> str:
    """The key in the variable `name`, blanks around it dropped, as a file's last newline is; raises BadKey."""
    key = environ.get(name, "").strip()
    if not key:
        raise BadKey(f"{name} is not set here")
    if not (key.isascii() and key.isprintable()):
        # httpx would refuse the header and quote it, key and all, in its message.
        raise BadKey(f"{name} holds characters no header may carry")
    return key
