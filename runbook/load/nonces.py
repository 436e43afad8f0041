"""Nonces: values that are right or wrong without doubt, and the registry that knows whose each one is.

A nonce is three groups of four letters, `kdmq-tqxr-hwzt`. Two groups are drawn, the third is a checksum of
them that no model can work out: so a nonce of another run is recognised too. The letters lack i, l and o. A
group is two to three tokens of DeepSeek's vocabulary, and none of them reaches into the next group.
"""

from __future__ import annotations

import hashlib
import re
from collections import deque
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import random
    from collections.abc import Iterable

ALPHABET = "abcdefghjkmnpqrstuvwxyz"
GROUP = 4
NONCE = re.compile(
    rf"(?<![{ALPHABET}-])(?:[{ALPHABET}]{{{GROUP}}}-){{2}}[{ALPHABET}]{{{GROUP}}}(?![{ALPHABET}-])"
)
SHARED = -1
"""Owner of what every session may say: the shared prefix."""

REMEMBERED = 25_000
"""Nonces of earlier waves that a soak still knows the owners of: their groups are a quarter of those there are."""

_TRIES = 20


def checksum(first: str, second: str) -> str:
    """The third group: 4 letters out of BLAKE2b of the other two; a random group is right once in 279,841."""
    digest = hashlib.blake2b(f"{first}-{second}".encode(), digest_size=8, person=b"runbook-nonce").digest()
    number = int.from_bytes(digest, "big")
    letters = []
    for _ in range(GROUP):
        number, index = divmod(number, len(ALPHABET))
        letters.append(ALPHABET[index])
    return "".join(letters)


def well_formed(text: str) -> bool:
    """Whether the text is a nonce of this or any other run: right shape, right checksum."""
    if not NONCE.fullmatch(text):
        return False
    first, second, third = text.split("-")
    return checksum(first, second) == third


class Registry:
    """The nonces of a run's latest waves and their owners, session numbers; every group too, while one session owns it.

    An earlier wave's nonce is still told by its checksum, like another run's. Remembered for good, a soak of two hours
    would take up hundreds of megabytes, and its groups would be used up within minutes.
    """

    def __init__(self, random: random.Random) -> None:
        self._random = random
        self._waves: deque[list[str]] = deque([[]])
        self._owner: dict[str, int] = {}
        self._group_owner: dict[str, int | None] = {}

    def next_wave(self) -> None:
        """What is drawn from here on is of another wave; the oldest goes while later ones hold REMEMBERED nonces."""
        known = len(self._owner)
        while len(self._owner) - len(self._waves[0]) >= REMEMBERED:
            for nonce in self._waves.popleft():
                del self._owner[nonce]
        if len(self._owner) < known:
            self._group_owner = _groups(self._owner.items())
        self._waves.append([])

    def draw(self, owner: int, *, new_groups: bool = True) -> str:
        """A new nonce of `owner`; with `new_groups` its groups are new too, while the alphabet has room for that.

        Filler goes without: a long context alone can hold more groups than there are.
        """
        nonce = self._fresh(_TRIES if new_groups else 0)
        self._owner[nonce] = owner
        self._waves[-1].append(nonce)
        _own_groups(self._group_owner, nonce, owner)
        return nonce

    def owner_of(self, nonce: str) -> int | None:
        """The session a nonce belongs to, SHARED, or None: nobody's."""
        return self._owner.get(nonce)

    def group_owner(self, group: str) -> int | None:
        """The only session that owns the group; None when nobody or more than one does."""
        return self._group_owner.get(group)

    def _fresh(self, tries: int) -> str:
        for _ in range(tries):
            groups = self._candidate()
            if not any(group in self._group_owner for group in groups):
                return "-".join(groups)
        nonce = "-".join(self._candidate())
        while nonce in self._owner:
            nonce = "-".join(self._candidate())
        return nonce

    def _candidate(self) -> tuple[str, str, str]:
        letters = "".join(self._random.choices(ALPHABET, k=2 * GROUP))
        first, second = letters[:GROUP], letters[GROUP:]
        return first, second, checksum(first, second)


def _groups(owners: Iterable[tuple[str, int]]) -> dict[str, int | None]:
    """The only owner of each group, None where there are several."""
    found: dict[str, int | None] = {}
    for nonce, owner in owners:
        _own_groups(found, nonce, owner)
    return found


def _own_groups(groups: dict[str, int | None], nonce: str, owner: int) -> None:
    for group in nonce.split("-"):
        if groups.setdefault(group, owner) != owner:
            groups[group] = None
