"""Declared launch arguments whose names no engine is known to have: misspelt, or cut short."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from runbook import ledger
from runbook.edits.shell import spellings
from runbook.ledger.catalogue import near
from runbook.ledger.entries import Entry

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from runbook.model import Host
    from runbook.verdict import Finding

SHIPPED = Path(ledger.__file__).with_name("options.txt")
_MOST = 3  # names in one message
_WANTED = (
    "a name cut short is not known for the whole one, and an engine does not start with one it does not have"
)


def remarks(host: Host) -> tuple[Finding, ...]:
    """What is to be said of the names of a host's launch arguments: warnings, since an engine may be younger than our list."""
    if not any(unit.args for unit in host.units):
        return ()
    return tuple(entry.finding() for entry in _entries(host, parse(SHIPPED.read_text("ascii"))))


def _entries(host: Host, known: Collection[str]) -> Iterator[Entry]:
    for unit in host.units:
        for argument in unit.args:
            if found := meant(argument.name, known):
                said = f"declared, but no option that SGLang, its router or vLLM is known to have ({host.source})"
                wanted = f"did you mean {_either(found)}? {_WANTED}"
                yield Entry("misspelt", argument.name, (unit.role,), said, wanted, "warn", (host.source,))


def parse(text: str) -> frozenset[str]:
    """Every option of options.txt with its dashes, and the one name of each (`spellings.option`)."""
    lines = (line for line in text.splitlines() if not line.startswith("#"))
    names = [f"--{word}" for line in lines for word in line.split()]
    return frozenset((*names, *map(spellings.option, names)))


def meant(name: str, known: Collection[str]) -> tuple[str, ...]:
    """The options an unknown name was probably meant to be: those it begins, else the nearest one; none for a known name."""
    own = spellings.option(name)
    if not name.startswith("--") or _is_known(own, known):
        return ()
    begun = tuple(sorted(each for each in known if each.startswith(own)))
    return begun or _nearest(own, known)


def _is_known(own: str, known: Collection[str]) -> bool:
    """vLLM also takes `--no-x` for its switches, and `--x.y` for a field of a mapping."""
    head = own.partition(".")[0]
    return head in known or f"--{head.removeprefix('--no-')}" in known


def _nearest(own: str, known: Collection[str]) -> tuple[str, ...]:
    by_words = {each.strip("-").replace("-", "_"): each for each in known}
    found = near(own.strip("-").replace("-", "_"), by_words)
    return (by_words[found],) if found else ()


def _either(names: tuple[str, ...]) -> str:
    more = f" or {len(names) - _MOST} more" if len(names) > _MOST else ""
    return ", ".join(names[:_MOST]) + more
