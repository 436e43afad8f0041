"""A record without secrets, and without what JSON has no word for: the last step before it is hashed."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from runbook.onhost.masking import MASK, is_secret, mask_file, mask_logins

if TYPE_CHECKING:
    from collections.abc import Sequence

_DEEPEST = 60  # what a host sends may be nested beyond reason
_SHORTEST = 4  # a shorter secret stands in every second word, and protects nothing


def masked(value: Any, secrets: Sequence[str] = (), depth: int = 0) -> Any:
    """The value with every secret replaced by `***`: assignments and options whose names say so, and these very texts.

    Numbers that are none (NaN, infinities) become text, and so does what is nested too deeply.
    """
    if depth > _DEEPEST:
        return "nested too deeply to be kept"
    match value:
        case str():
            return _text(value, secrets)
        case dict():
            return {
                _text(str(key), secrets): _of(str(key), one, secrets, depth + 1) for key, one in value.items()
            }
        case list() | tuple():
            return [masked(one, secrets, depth + 1) for one in value]
        case float() if not math.isfinite(value):
            return str(value)
    return value


def _of(key: str, value: Any, secrets: Sequence[str], depth: int) -> Any:
    """A variable's value: HF_TOKEN is one, a field of ours such as `token` is none."""
    if key.isupper() and is_secret(key) and value is not None:
        return MASK
    return masked(value, secrets, depth)


def _text(text: str, secrets: Sequence[str]) -> str:
    for secret in secrets:
        if len(secret) >= _SHORTEST:
            text = text.replace(secret, MASK)
    return mask_logins(mask_file(text))
