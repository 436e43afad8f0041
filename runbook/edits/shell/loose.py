"""Loose words: those of a command line that may stand for options when the script runs, though none is written there."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from runbook.edits.shell import options

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from runbook.edits.shell.script import Script
    from runbook.edits.shell.words import Word

Texts = dict[str, list[str]]
# Possessive: a name's letters are not tried as what follows it, too, which takes a time exponential in the names.
_VARIABLES = re.compile(r"[^$`{]*+(?:\$(?:[A-Za-z_]\w*+|\{[A-Za-z_]\w*\})[^$`{]*+)+")
_NAME = re.compile(r"\$\{?([A-Za-z_]\w*)")
_UNKNOWN = "$("
_RUNS = re.compile(r"\$\(|`|\$\{?[@*]")
_LEADING = re.compile(r"""[\s"'(]*(?:\$\{\w+:?[-+=])?["']?--?[A-Za-z]""")
_FURTHER = re.compile(r"""[\s"']--?[A-Za-z]""")
_WRITTEN = re.compile(r"--[A-Za-z]")
_COMMENT = re.compile(r"`\s*#[^`\n]*`")


def find(words: Sequence[Word], texts: Mapping[str, Sequence[str]]) -> tuple[int, ...]:
    """The positions of loose words, up to `--`; `texts` are what the script assigns to each variable, as written.

    What directly follows an option is its value, unless something there or in the script says otherwise.
    """
    stop = next((at for at, word in enumerate(words) if at and word.text == "--"), len(words))
    given = {
        place.at + 1
        for place in options.places(words)
        if place.values and not options.SWITCH.match(options.name_of(words[place.at]))
    }
    return tuple(at for at in range(1, stop) if _is_loose(words[at], texts, given=at in given))


def texts(script: Script) -> Texts:
    """What a script assigns to each variable, wherever it does, as written; what only a run can tell as a command."""
    found: Texts = {}
    for statement in script.statements:
        for site in statement.sites:
            _, equals, written = script.text(site.token).partition("=")
            if equals and site.where != "a nameref":
                found.setdefault(site.name, []).append(written)
            elif site.act in ("touch", "local"):
                found.setdefault(site.name, []).append(_UNKNOWN)
    return found


def _is_loose(word: Word, texts: Mapping[str, Sequence[str]], *, given: bool) -> bool:
    if word.text is not None or options.name_of(word) or _COMMENT.fullmatch(word.raw):
        return False
    if options.splits(word) or word.raw.lstrip("\"'").startswith("-"):
        return True
    names = _NAME.findall(word.raw)
    if word.raw.startswith(('"', '$"')) and word.raw.endswith('"'):
        leads = any(_leads(text) for name in names for text in texts.get(name, ()))
        return not given and (leads or bool(_WRITTEN.search(word.raw)))
    assigned = [text for name in names for text in texts.get(name, (_UNKNOWN,))]
    if given:
        return _leads(word.raw) or any(_leads(text) for text in assigned)
    known = _VARIABLES.fullmatch(word.raw) and not any(_RUNS.search(text) for text in assigned)
    return not known or any(_leads(text) for text in assigned)


def _leads(text: str) -> bool:
    """Whether a text begins with an option, or has one further on."""
    return bool(_LEADING.match(text) or (not _RUNS.search(text) and _FURTHER.search(text)))
