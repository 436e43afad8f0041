"""The grammar of unit files and drop-ins, after systemd's `config_parse` and `extract_first_word`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from runbook.errors import EditRefusedError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_LINE = re.compile(r"[^\n\r]*(?:\r\n|\n|\r|\Z)")
_BLANK = " \t\n\r"
_BYTE_ORDER_MARK = "\ufeff"
_NO_TEXT = re.compile("[\udc80-\udcff]")  # a byte outside UTF-8
_ESCAPES = dict(zip("abfnrtv\\\"'s", "\a\b\f\n\r\t\v\\\"' ", strict=True))
_ESCAPE = re.compile(
    r"\\(?:([abfnrtv\\\"'s])|x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|([0-7]{3}))"
)


class Word(NamedTuple):
    """A word of a setting's value after unquoting, and the span of the file it is written in."""

    text: str
    start: int
    end: int


class Setting(NamedTuple):
    """One `key=value` of a section, its continuation lines joined.

    `start` to `end` cover its lines, newline included; `places` are the offsets of the characters of `value`.
    """

    section: str
    key: str
    value: str
    places: tuple[int, ...]
    line: int
    start: int
    end: int


class Section(NamedTuple):
    """A section's header: its name and the offset after its line."""

    name: str
    after: int


def parse(text: str) -> tuple[tuple[Setting, ...], tuple[Section, ...]]:
    """The settings and section headers of a unit file, in order; systemd skips a line that is no UTF-8.

    Raises EditRefusedError for a section header without its `]`, where systemd stops reading.
    """
    settings: list[Setting] = []
    sections: list[Section] = []
    for chars, places, start, end in _logical_lines(text):
        line = chars.strip(_BLANK)
        if _NO_TEXT.search(line):
            continue
        if line.startswith("["):
            _refuse_open(line, text, start)
            sections.append(Section(line.strip("[]"), end))
        elif "=" in line:
            section = sections[-1].name if sections else ""
            at = text.count("\n", 0, start) + 1
            settings.append(_setting(section, chars, places, at, start, end))
    return tuple(settings), tuple(sections)


def _refuse_open(header: str, text: str, start: int) -> None:
    if not header.endswith("]"):
        raise EditRefusedError(
            f"systemd stops reading at the section header {header}; close it with a ]",
            line=text.count("\n", 0, start) + 1,
        )


def words(setting: Setting) -> tuple[tuple[Word, ...], bool]:
    """The words of a setting's value, and whether all of it could be read; what follows a mistake is ignored."""
    found: list[Word] = []
    at = 0
    while True:
        while at < len(setting.value) and setting.value[at] in _BLANK:
            at += 1
        if at >= len(setting.value):
            return tuple(found), True
        text, end = _word(setting.value, at)
        if text is None:
            return tuple(found), False
        found.append(Word(text, setting.places[at], setting.places[end - 1] + 1))
        at = end


def quote(word: str) -> str:
    """A word as systemd reads it back, specifiers escaped, in double quotes when it needs them."""
    escaped = word.replace("%", "%%")
    if re.fullmatch(r"[A-Za-z0-9_@%+=:,./-]+", escaped):
        return escaped
    escaped = escaped.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\t", "\\t")
    return '"' + re.sub(r"[\x01-\x1f\x7f]", lambda found: f"\\x{ord(found[0]):02x}", escaped) + '"'


def _logical_lines(text: str) -> Iterator[tuple[str, list[int], int, int]]:
    """Lines with their continuations: characters, their offsets, and the span of the file they cover."""
    chars, places, start = "", list[int](), 0
    for found in _LINE.finditer(text):
        line = found[0].rstrip("\r\n")
        body = line.lstrip(_BLANK) if found.start() else line.removeprefix(_BYTE_ORDER_MARK).lstrip(_BLANK)
        if body.startswith(("#", ";")) or found.start() == len(text):
            continue
        if not places:
            start = found.start()
        chars += body
        first = found.start() + len(line) - len(body)
        places += range(first, first + len(body))
        if _continues(chars):
            chars = chars[:-1] + " "
            continue
        yield chars, places, start, found.end()
        chars, places = "", []
    if places:
        yield chars, places, start, len(text)


def _continues(chars: str) -> bool:
    return (len(chars) - len(chars.rstrip("\\"))) % 2 == 1


def _setting(section: str, chars: str, places: Sequence[int], line: int, start: int, end: int) -> Setting:
    key, _, rest = chars.partition("=")
    begin = len(key) + 1 + len(rest) - len(rest.lstrip(_BLANK))
    value = rest.strip(_BLANK)
    return Setting(
        section, key.strip(_BLANK), value, tuple(places[begin : begin + len(value)]), line, start, end
    )


def _word(value: str, at: int) -> tuple[str | None, int]:
    """The word that begins at an offset and the offset after it; None for a bad escape or an open quote."""
    text, quoted = "", ""
    while at < len(value) and (quoted or value[at] not in _BLANK):
        char = value[at]
        if char == "\\":
            escape = _ESCAPE.match(value, at)
            decoded = _decoded(escape) if escape else ""
            if not escape or not decoded:
                return None, at
            text, at = text + decoded, escape.end()
            continue
        if char == quoted:
            quoted = ""
        elif char in "\"'" and not quoted:
            quoted = char
        else:
            text += char
        at += 1
    return (None if quoted else text), at


def _decoded(escape: re.Match[str]) -> str:
    """The character of an escape, or nothing for NUL and for numbers that are no character."""
    letter, byte, short, long, octal = escape.groups()
    if letter:
        return _ESCAPES[letter]
    number = int(octal, 8) if octal else int(byte or short or long, 16)
    if byte or octal:
        return bytes([number & 255]).decode("utf-8", "surrogateescape") if 0 < number < 256 else ""
    return chr(number) if 0 < number < 0x110000 else ""
