"""Nonces: values that are right or wrong without doubt, and the registry that knows whose each one is.

A nonce is three groups of four letters, `kdmq-tqxr-hwzt`. Two groups are drawn, the third is a checksum of
them that no model can work out: so a nonce of another run is recognised too. The letters lack i, l and o. A
group is two to three tokens of DeepSeek's vocabulary, and none of them reaches into the next group.
"""

from __future__ import annotations

import hashlib
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import random

ALPHABET = "abcdefghjkmnpqrstuvwxyz"
GROUP = 4
NONCE = re.compile(
    rf"(?<![{ALPHABET}-])(?:[{ALPHABET}]{{{GROUP}}}-){{2}}[{ALPHABET}]{{{GROUP}}}(?![{ALPHABET}-])"
)
SHARED = -1
"""Owner of what every session may say: the shared prefix."""

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
    """Every nonce of a run and its owner, a session number; every group too, while one session owns it."""

    def __init__(self, random: random.Random) -> None:
        self._random = random
        self._owner: dict[str, int] = {}
        self._group_owner: dict[str, int | None] = {}

    def draw(self, owner: int, *, new_groups: bool = True) -> str:
        """A new nonce of `owner`; with `new_groups` its groups are new too, while the alphabet has room for that.

        Filler goes without: a long context alone can hold more groups than there are.
        """
        nonce = self._fresh(_TRIES if new_groups else 0)
        self._owner[nonce] = owner
        for group in nonce.split("-"):
            known = self._group_owner.setdefault(group, owner)
            if known != owner:
                self._group_owner[group] = None
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
