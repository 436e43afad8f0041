"""Text from hosts, servers and files made safe to show: data, never instructions to the terminal."""

from __future__ import annotations

import math
import re
import textwrap
import unicodedata
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

# C0 and C1 controls but tab and newline, DEL, and the bidirectional overrides that reorder a line.
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
_MARKS = (".", ",", ";", ":", "!", "?", "…", "(")


def clean(text: str) -> str:
    """The text with every control character and lone surrogate replaced by U+FFFD; CRLF becomes LF."""
    return _CONTROL.sub("\ufffd", text.replace("\r\n", "\n"))


def no_figure(constant: str) -> None:
    """For `json.loads(parse_constant=…)`: NaN and Infinity are Python's own, and would make our documents no JSON."""
    return


def figure(text: str) -> float | None:
    """For `json.loads(parse_float=…)`: what is written 1e999 would be told on as Infinity."""
    value = float(text)
    return value if math.isfinite(value) else None


def one_line(text: str, limit: int = 400) -> str:
    """A clean text on one line of at most `limit` characters: a name or a value. A message is `sentence`."""
    return _cut(" ".join(clean(text).split()), limit)


def sentence(text: str, limit: int = 400) -> str:
    """A clean message on one line of at most `limit` characters; what stood on lines of its own stays apart, by `; `."""
    return _cut(_joined(" ".join(row.split()) for row in clean(text).splitlines()), limit)


def _cut(line: str, limit: int) -> str:
    return line if len(line) <= limit else f"{line[: limit - 1]}…"


def _joined(rows: Iterable[str]) -> str:
    """Rows as one; behind a mark that ends or announces something no other is needed."""
    line = ""
    for row in filter(None, rows):
        mark = "" if not line else " " if line.endswith(_MARKS) else "; "
        line += mark + row
    return line


def short_words(text: str, limit: int = 60) -> str:
    """A command with each of its words cut to `limit` characters: what comes behind a long one may be what matters."""
    return " ".join(word if len(word) <= limit else f"{word[: limit - 1]}…" for word in text.split(" "))


def counted(number: int, noun: str) -> str:
    """`1 file`, `2 files`."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def span(seconds: float) -> str:
    """`3 d`, `5 h`, `12 min`, `7 s`: the largest unit that fits."""
    for unit, size in (("d", 86400), ("h", 3600), ("min", 60)):
        if seconds >= size:
            return f"{int(seconds // size)} {unit}"
    return f"{int(seconds)} s"


def folded(text: str, width: int) -> list[str]:
    """The text on lines of at most `width` characters, broken between words, the later ones indented below the first."""
    indent = len(text) - len(text.lstrip()) + 2
    return textwrap.wrap(
        text,
        max(width, indent + 8),
        subsequent_indent=" " * indent,
        break_long_words=False,
        break_on_hyphens=False,
    ) or [text]


def fitted(text: str, width: int) -> str:
    """The text in at most `width` columns; wide characters count two, and none is cut in half."""
    if columns(text) <= width:
        return text
    kept, used = [], 1
    for char in text:
        used += columns(char)
        if used > width:
            break
        kept.append(char)
    return "".join(kept) + "…"


def columns(text: str) -> int:
    """How many columns a terminal gives to a text on one line."""
    return sum(_columns_of(char) for char in text)


def _columns_of(char: str) -> int:
    if char.isascii():
        return 1
    if unicodedata.combining(char) or unicodedata.category(char) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1
