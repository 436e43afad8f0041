"""What characters a stream can show, and what stands in for those it cannot."""

from __future__ import annotations

import codecs
import io
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import TextIO

SPELLED_OUT = "runbook.spelled_out"

_STAND_INS = {
    "…": "...", "·": "-", "–": "-", "—": "-", "×": "x", "≥": ">=", "≤": "<=", "±": "+-", "→": "->", "“": '"', "”": '"',
    "─": "-", "✓": "ok", "✗": "X", "█": "#", "▉": "#", "▊": "#", "▋": "#", "▌": "#", "▍": " ", "▎": " ", "▏": " ", "░": ".",
    "\ufffd": "?",
}  # fmt: skip


def spelled_out(text: str) -> str:
    """The text in ASCII: our own signs by stand-ins, all others as `\\u6f22`, so that nothing is lost."""
    return "".join(
        char if char.isascii() else _STAND_INS.get(char) or char.encode("ascii", "backslashreplace").decode()
        for char in text
    )


def spell_out(error: UnicodeError) -> tuple[str | bytes, int]:
    """An error handler for a stream's encoding (codecs.register_error)."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    return spelled_out(error.object[error.start : error.end]), error.end


def is_unicode(environ: Mapping[str, str], *, terminal: bool) -> bool:
    """Whether the locale promises UTF-8. Nothing set means C for a terminal, and nothing for a pipe.

    Python's own guess does not serve: in the C locale it writes UTF-8 (PEP 540) whatever the terminal can show.
    """
    locale = next((found for name in ("LC_ALL", "LC_CTYPE", "LANG") if (found := environ.get(name))), "")
    if not locale:
        return not terminal
    return "utf8" in locale.lower().replace("-", "")


def settle(stream: TextIO, environ: Mapping[str, str]) -> None:
    """Let the stream spell out what it cannot show, instead of raising or showing rubbish."""
    if not isinstance(stream, io.TextIOWrapper):
        return
    codecs.register_error(SPELLED_OUT, spell_out)
    unicode = is_unicode(environ, terminal=stream.isatty())
    stream.reconfigure(encoding=None if unicode else "ascii", errors=SPELLED_OUT)
