"""How a value that a model copied differs from the right one: a slip, a miscopy, somebody else's, or nobody's."""

from __future__ import annotations

import itertools
import json
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from runbook.load.nonces import GROUP, NONCE, SHARED, well_formed

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from runbook.load.nonces import Registry

_TOKEN = 8
"""Characters of JSON's punctuation and of our values that one token can hold: `", "` and a group at most."""


@dataclass(frozen=True, slots=True)
class Fault:
    """One wrong value. `kind` is the corruption class; `where` names it, such as `rows[3]`."""

    kind: str
    where: str
    found: str
    wanted: str
    note: str = ""

    @property
    def message(self) -> str:
        ending = f" ({self.note})" if self.note else ""
        return f"{self.where}: found {self.found[:80]!r}, wanted {self.wanted!r}{ending}"


def compare(
    found: Mapping[str, Any], wanted: Mapping[str, Any], session: int, registry: Registry
) -> tuple[Fault, ...]:
    """Every fault of a call's arguments, in the order of the right ones; nothing for exactly the right ones."""
    if found == wanted:
        return ()
    faults: list[Fault] = []
    for name, right in wanted.items():
        if name not in found:
            faults.append(Fault("miscopy", name, ", ".join(found), name, "argument missing"))
        elif isinstance(right, str):
            faults.extend(_value(name, found[name], right, session, registry))
        else:
            faults.extend(_rows(name, found[name], right, session, registry))
    faults.extend(
        Fault("miscopy", name, str(found[name]), "", "argument not asked for")
        for name in found
        if name not in wanted
    )
    return tuple(faults)


def compare_text(found: str, wanted: Mapping[str, Any]) -> tuple[Fault, ...]:
    """The fault of arguments that are no JSON, when they are the right ones but for one damaged token.

    None of our values holds a blank, so blanks do not count: every model sets them its own way.
    """
    text, right = "".join(found.split()), json.dumps(wanted, separators=(",", ":"))
    before, same_end = _common(text, right)
    damaged, damage = right[before : len(right) - same_end], text[before : len(text) - same_end]
    if len(damaged) > _TOKEN:
        return ()
    note = "else right, and no JSON"
    return (Fault("slip", f"arguments at {before}", damage, damaged, note),)


def is_slip(found: str, wanted: str) -> bool:
    """Whether `found` is `wanted` with damage inside one token group, or at most two edits away.

    One damaged token changes letters of one group and the hyphens beside it; so does a copying error.
    """
    before, same_end = _common(found, wanted)
    damaged, damage = wanted[before : len(wanted) - same_end], found[before : len(found) - same_end]
    one_group = "-" not in damaged.strip("-") and "-" not in damage.strip("-")
    return found != wanted and (one_group or within_two_edits(found, wanted))


def within_two_edits(found: str, wanted: str) -> bool:
    """Levenshtein distance at most 2, in time linear in the length.

    Ukkonen's furthest-reaching diagonals: front[d] is how much of `found` diagonal d matched so far.
    """
    goal = len(wanted) - len(found)
    front = {0: _slide(found, wanted, 0, 0)}
    for edits in range(3):
        if front.get(goal, -1) >= len(found):
            return True
        if edits < 2:
            front = _one_more_edit(found, wanted, front)
    return False


def _one_more_edit(found: str, wanted: str, front: dict[int, int]) -> dict[int, int]:
    reached: dict[int, int] = {}
    for diagonal, at in front.items():
        for step, moved in ((diagonal, at + 1), (diagonal + 1, at), (diagonal - 1, at + 1)):
            best = _slide(found, wanted, min(moved, len(found)), step)
            reached[step] = max(reached.get(step, -1), best)
    return reached


def _slide(found: str, wanted: str, at: int, diagonal: int) -> int:
    while at < len(found) and 0 <= at + diagonal < len(wanted) and found[at] == wanted[at + diagonal]:
        at += 1
    return at


def _common(found: str, wanted: str) -> tuple[int, int]:
    """Lengths of the common prefix, and of the common suffix of what is left."""
    shortest = min(len(found), len(wanted))
    start = 0
    while start < shortest and found[start] == wanted[start]:
        start += 1
    same = 0
    while same < shortest - start and found[-1 - same] == wanted[-1 - same]:
        same += 1
    return start, same


def _value(where: str, found: object, wanted: str, session: int, registry: Registry) -> Iterator[Fault]:
    if found == wanted:
        return
    text = found if isinstance(found, str) else json.dumps(found)
    yield _fault(where, text, wanted, session, registry)


def _fault(where: str, text: str, wanted: str, session: int, registry: Registry) -> Fault:
    """What a value that is not the wanted one is."""
    owners = [(nonce, registry.owner_of(nonce)) for nonce in NONCE.findall(_spaced(text))]
    strangers = [nonce for nonce, owner in owners if owner not in (None, SHARED, session)]
    strangers += [nonce for nonce, owner in owners if owner is None and well_formed(nonce)]
    if strangers:
        return Fault("foreign", where, text, wanted, f"{strangers[0]} is {_whose(strangers[0], registry)}")
    if owners and all(owner == session for _, owner in owners) and len(text) <= len(wanted):
        return Fault("miscopy", where, text, wanted, "an own value in the wrong place")
    groups = _foreign_groups(text, session, registry)
    note = ", ".join(f"{group} is of session {owner}" for group, owner in groups.items())
    if is_slip(text, wanted):
        return Fault("slip", where, text, wanted, note)
    # One group of four letters may be somebody's by chance, two of them are not.
    return Fault("foreign" if len(groups) > 1 else "badvalue", where, text, wanted, note or "nobody's value")


def _spaced(text: str) -> str:
    """Two nonces joined by a hyphen, as in `finish`, apart again."""
    width = 3 * GROUP + 2
    joined = len(text) == 2 * width + 1 and text[width] == "-"
    return f"{text[:width]} {text[width + 1 :]}" if joined else text


def _whose(nonce: str, registry: Registry) -> str:
    owner = registry.owner_of(nonce)
    return "of an earlier wave or another run" if owner is None else f"of session {owner}"


def _foreign_groups(text: str, session: int, registry: Registry) -> dict[str, int]:
    """Whole groups of other sessions in the text, with their owners."""
    owners = {group: registry.group_owner(group) for group in text.split("-")}
    return {group: owner for group, owner in owners.items() if owner not in (None, session, SHARED)}


def _rows(
    where: str, found: object, wanted: Sequence[str], session: int, registry: Registry
) -> Iterator[Fault]:
    """Faults of copied rows. Wrong values are matched to the missing right ones, by place first."""
    rows, ordinary = _as_rows(found)
    if not ordinary:
        yield Fault("miscopy", where, type(found).__name__, "array", "rows not given as an array")
    missing = list((Counter(wanted) - Counter(rows)).elements())
    wrong = [(index, row) for index, row in enumerate(rows) if row not in wanted]
    for index, row in wrong:
        right = _likeliest(row, wanted[index] if index < len(wanted) else "", missing)
        if right in missing:
            missing.remove(right)
        yield _fault(f"{where}[{index}]", row, right, session, registry)
    if len(rows) != len(wanted) or missing or _disordered(rows, wanted):
        note = f"{len(rows)} rows of {len(wanted)}, {len(missing)} missing, or out of order"
        yield Fault("miscopy", where, f"{len(rows)} rows", f"{len(wanted)} rows", note)


def _as_rows(found: object) -> tuple[list[str], bool]:
    """The rows as text, and whether they came as the array of strings that was asked for."""
    if isinstance(found, list):
        return [row if isinstance(row, str) else json.dumps(row) for row in found], True
    if not isinstance(found, str):
        return [], False
    try:
        inner = json.loads(found)
    except (ValueError, RecursionError):
        inner = None
    if isinstance(inner, list):
        return [str(row) for row in inner], False
    return [line for line in found.splitlines() if line], False


def _likeliest(row: str, placed: str, missing: Sequence[str]) -> str:
    """The right row that a wrong one stands for."""
    if placed in missing:
        return placed
    return next((right for right in missing if is_slip(row, right)), missing[0] if missing else placed)


def _disordered(rows: Sequence[str], wanted: Sequence[str]) -> bool:
    """Whether the right rows among `rows` are out of order or repeated."""
    places = {row: index for index, row in enumerate(wanted)}
    seen = [places[row] for row in rows if row in places]
    return any(later <= earlier for earlier, later in itertools.pairwise(seen))
