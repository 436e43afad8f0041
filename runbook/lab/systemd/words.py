"""The word, assignment and time-span syntax of unit files (systemd.syntax(7), systemd.time(7))."""

from __future__ import annotations

import re

_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "s": " ", "a": "\a", "b": "\b", "f": "\f", "v": "\v"}
_UNITS_S = {
    "us": 1e-6,
    "usec": 1e-6,
    "ms": 1e-3,
    "msec": 1e-3,
    "s": 1.0,
    "sec": 1.0,
    "second": 1.0,
    "seconds": 1.0,
    "m": 60.0,
    "min": 60.0,
    "minute": 60.0,
    "minutes": 60.0,
    "h": 3600.0,
    "hr": 3600.0,
    "hour": 3600.0,
    "hours": 3600.0,
    "d": 86400.0,
    "day": 86400.0,
    "days": 86400.0,
}
_SPAN = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([a-z]*)")
_ASSIGNMENT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*=", re.ASCII)


def split_words(text: str) -> tuple[str, ...]:
    """Split as systemd does: blanks separate, quotes group, backslash escapes; ValueError on an open quote."""
    words: list[str] = []
    rest = text.lstrip()
    while rest:
        word, rest = _take_word(rest)
        words.append(word)
        rest = rest.lstrip()
    return tuple(words)


def _take_word(text: str) -> tuple[str, str]:
    word: list[str] = []
    quote, at = "", 0
    while at < len(text) and (quote or not text[at].isspace()):
        char = text[at]
        if char == "\\" and at + 1 < len(text):
            at += 1
            word.append(_ESCAPES.get(text[at], text[at]))
        elif char == quote:
            quote = ""
        elif char in "'\"" and not quote:
            quote = char
        else:
            word.append(char)
        at += 1
    if quote:
        raise ValueError(f"unbalanced {quote} in {text!r}")
    return "".join(word), text[at:]


def is_assignment(word: str) -> bool:
    """Whether a word is `NAME=value`; `export A=1` and `1A=x` are not."""
    return _ASSIGNMENT.match(word) is not None


def parse_span(text: str) -> float:
    """Seconds of a time span such as `90`, `500ms` or `1min 30s`; `infinity` is inf; ValueError otherwise."""
    if text.strip() == "infinity":
        return float("inf")
    total, at = 0.0, 0
    while at < len(text.rstrip()):
        match = _SPAN.match(text, at)
        if match is None or match[2] not in {"", *_UNITS_S}:
            raise ValueError(f"not a time span: {text!r}")
        total += float(match[1]) * _UNITS_S.get(match[2], 1.0)
        at = match.end()
    if at == 0:
        raise ValueError("empty time span")
    return total


def format_span(seconds: float) -> str:
    """A time span as `systemctl show` prints it: `1min 30s`, `100ms`, `0`, `infinity`."""
    if seconds == float("inf"):
        return "infinity"
    left_us = round(seconds * 1_000_000)
    parts = []
    for name, size_us in (
        ("d", 86_400_000_000),
        ("h", 3_600_000_000),
        ("min", 60_000_000),
        ("s", 1_000_000),
        ("ms", 1000),
        ("us", 1),
    ):
        count, left_us = divmod(left_us, size_us)
        if count:
            parts.append(f"{count}{name}")
    return " ".join(parts) or "0"


def parse_boolean(text: str) -> bool:
    """systemd's booleans; ValueError otherwise."""
    if text.lower() in {"1", "yes", "y", "true", "t", "on"}:
        return True
    if text.lower() in {"0", "no", "n", "false", "f", "off"}:
        return False
    raise ValueError(f"not a boolean: {text!r}")
