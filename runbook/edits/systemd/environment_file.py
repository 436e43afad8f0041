"""The grammar of environment files, after systemd's `parse_env_file_internal` (src/basic/env-file.c)."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

_BLANKS = re.compile(r"[ \t\n\r]*")
_COMMENT_LINE = re.compile(r"[^\n\r]*")
_COMMENT = re.compile(r"[#;](?:\\.|[^\\\n\r])*", re.DOTALL)
_KEY = re.compile(r"[^\n\r][^=\n\r]*")  # systemd takes even a "=" for the first character
_DOUBLE = re.compile(r'"((?:\\.|[^"\\])*)("?)', re.DOTALL)
_SINGLE = re.compile(r"'([^']*)('?)")
_TAIL = re.compile(r"(?:\\.|[^\\\n\r])*\\?", re.DOTALL)


class Entry(NamedTuple):
    """One `name=value`: `start` to `end` cover it up to its line's end, `value_start` is just after the `=`.

    `closed` is false where a quote stays open to the end of the file. `folded`: the comment above ends in a
    backslash, by which systemd before 254 takes this line for more comment, and later ones do not.
    """

    name: str
    value: str
    line: int
    start: int
    value_start: int
    end: int
    closed: bool
    folded: bool = False


def entries(text: str) -> Iterator[Entry]:
    """Every entry of a file in order, those with impossible names included."""
    at = folded_until = counted = 0
    line = 1
    while True:
        at = _end(_BLANKS, text, at)
        if at >= len(text):
            return
        if text[at] in "#;":
            folded_until = max(folded_until, _end(_COMMENT, text, at))
            at = _end(_COMMENT_LINE, text, at)
            continue
        stop = _end(_KEY, text, at)
        if stop < len(text) and text[stop] == "=":
            value, end, closed = _value(text, stop + 1)
            name = text[at:stop].rstrip(" \t")
            line, counted = line + text.count("\n", counted, at), at
            yield Entry(name, value, line, at, stop + 1, end, closed, at < folded_until)
            stop = end
        at = stop


def _end(pattern: re.Pattern[str], text: str, at: int) -> int:
    found = pattern.match(text, at)
    return found.end() if found else at


def _value(text: str, at: int) -> tuple[str, int, bool]:
    """The value that begins at an offset, the offset of its line's end, and whether its quotes are closed."""
    value = ""
    while True:
        while at < len(text) and text[at] in " \t":
            at += 1
        if at >= len(text) or text[at] in "\n\r":
            return value, at, True
        quoted = _DOUBLE.match(text, at) or _SINGLE.match(text, at)
        if not quoted:
            break
        value += _unescaped(quoted[1]) if text[at] == '"' else quoted[1]
        at = quoted.end()
        if not quoted[2]:
            return value, len(text), False
    end = _end(_TAIL, text, at)
    return value + _plain(text[at:end]), end, True


def _unescaped(inner: str) -> str:
    """Text between double quotes: `\\` frees `"`, `\\`, a backtick and `$`, joins lines, and else stays."""
    inner = re.sub(r'\\(["\\`$\n])', lambda found: "" if found[1] == "\n" else "\0" + found[1], inner)
    return inner.replace("\0", "")


def _plain(tail: str) -> str:
    """Text outside quotes: `\\` frees any character and joins lines; blanks at the end go."""
    kept = tail.rstrip(" \t")
    if (len(kept) - len(kept.rstrip("\\"))) % 2:
        kept = tail[: len(kept) + 1]  # a blank that is freed stays
    return re.sub(r"\\(.|\Z)", lambda found: "" if found[1] in "\n\r" else found[1], kept, flags=re.DOTALL)
