"""Shell words: the literal text a word stands for, and literal text as a word."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from runbook.edits.shell.parser import decode

if TYPE_CHECKING:
    from collections.abc import Sequence

    from runbook.edits.shell.parser import Node

Span = tuple[int, int]

NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
# What bash gives a value itself, whatever a script assigns (bash(1), "Shell Variables")
_NAMES_OF_BASH = """
    _ BASHOPTS BASHPID BASH_ALIASES BASH_ARGC BASH_ARGV BASH_CMDS BASH_COMMAND BASH_LINENO BASH_SOURCE BASH_VERSINFO
    DIRSTACK EPOCHREALTIME EPOCHSECONDS EUID FUNCNAME GROUPS HISTCMD LINENO PPID RANDOM SECONDS SHELLOPTS SHLVL SRANDOM
    UID
"""
NAMES_OF_BASH = frozenset(_NAMES_OF_BASH.split())
_PLAIN = re.compile(r"[A-Za-z0-9_@%+=:,./-]+\Z")
_CONTROL = re.compile(r"[\x01-\x08\x0b-\x1f\x7f]")
_TILDE = re.compile(rb"(?:^|[:=])~")
_GLOB = re.compile(rb"[*?\[]")
_ANSI = re.compile(rb"\\(?:([0-7]{1,3})|x([0-9A-Fa-f]{1,2})|([abeEfnrtv\\'\"?])|(.))", re.DOTALL)
_ANSI_CHARS = dict(zip(b"abeEfnrtv\\'\"?", b"\a\b\x1b\x1b\f\n\r\t\v\\'\"?", strict=True))


class Word(NamedTuple):
    """One word of a command: its literal text (None when dynamic), how it is written, and where, in bytes."""

    text: str | None
    raw: str
    span: Span
    line: int


def words(source: bytes, nodes: Sequence[Node]) -> tuple[Word, ...]:
    """The words of a command, where braces and file names expand too."""
    return tuple(
        Word(literal(source, node, expands=b"{*"), raw(source, node), span(node), line(node))
        for node in nodes
    )


def quote(value: str) -> str:
    """A literal value as one shell word, quoted only when it needs it."""
    if _PLAIN.match(value):
        return value
    if _CONTROL.search(value):
        escaped = value.replace("\\", "\\\\").replace("'", "\\'").replace("\n", "\\n")
        return "$'" + _CONTROL.sub(lambda found: f"\\x{ord(found[0]):02x}", escaped) + "'"
    if "'" in value and not re.search(r'["$`\\!]', value):
        return f'"{value}"'
    return "'" + value.replace("'", "'\\''") + "'"


def start(node: Node) -> int:
    """Byte offset of a node's first byte."""
    offset: int = node["Pos"]["Offset"]
    return offset


def end(node: Node) -> int:
    """Byte offset after a node's last byte."""
    offset: int = node["End"]["Offset"]
    return offset


def span(node: Node) -> Span:
    return start(node), end(node)


def line(node: Node) -> int:
    number: int = node["Pos"]["Line"]
    return number


def raw(source: bytes, node: Node) -> str:
    return decode(source[start(node) : end(node)])


def literal(source: bytes, word: Node | None, *, expands: bytes = b"") -> str | None:
    """The text a word stands for after unquoting, or None when it is only known at run time.

    `expands` names what the place expands besides `$` and tildes: `{` braces, `*` file names.
    """
    if word is None:
        return ""
    parts = [_part(source, part, expands) for part in word.get("Parts", ())]
    if any(part is None for part in parts):
        return None
    return decode(b"".join(part for part in parts if part is not None))


def _part(source: bytes, part: Node, expands: bytes) -> bytes | None:
    text = source[start(part) : end(part)]
    kind = part["Type"]
    if kind == "Lit":
        return _bare(text, expands)
    if kind == "SglQuoted":
        return _ansi(text[2:-1]) if part.get("Dollar") else text[1:-1]
    if kind == "DblQuoted" and not part.get("Dollar"):
        inner = part.get("Parts", ())
        if all(piece["Type"] == "Lit" for piece in inner):
            return re.sub(rb'\\([$`"\\\n])', _unescaped, text[1:-1])
    return None


def _unescaped(found: re.Match[bytes]) -> bytes:
    return b"" if found[1] == b"\n" else found[1]


def _bare(text: bytes, expands: bytes) -> bytes | None:
    active = re.sub(rb"\\.", b"", text, flags=re.DOTALL)
    if _TILDE.search(active) or (b"{" in expands and b"{" in active):
        return None
    if b"*" in expands and _GLOB.search(active):
        return None
    return re.sub(rb"\\(.)", _unescaped, text, flags=re.DOTALL)


def _ansi(text: bytes) -> bytes | None:
    """The bytes of `$'…'`, or None for what depends on the locale (`\\u`, `\\c`) or ends the string (NUL)."""
    decoded = bytearray()
    position = 0
    for found in _ANSI.finditer(text):
        decoded += text[position : found.start()]
        position = found.end()
        octal, hexadecimal, letter, other = found.groups()
        if other is not None:
            if other in b"uUcx":
                return None
            decoded += b"\\" + other
        else:
            byte = (
                _ANSI_CHARS[letter[0]] if letter else int(octal, 8) & 255 if octal else int(hexadecimal, 16)
            )
            if byte == 0:
                return None
            decoded.append(byte)
    return bytes(decoded + text[position:])
