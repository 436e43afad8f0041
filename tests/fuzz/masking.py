"""Masking: whatever a host's files and journals hold, a secret that is plainly one is masked, and within its time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runbook.onhost import masking
from tests.fuzz import flat, script
from tests.fuzz.mutation import mutated

if TYPE_CHECKING:
    import random

SECRET = "open-sesame-4711"
# Each on a line of its own, before anything that could put it in quotes.
PLAIN = (
    f"export HF_TOKEN={SECRET}",
    f"API_KEY='{SECRET}'",
    f'Environment="HF_TOKEN={SECRET}"',
    f"python --api-key {SECRET}",
)
WORDS = (
    *flat.WORDS, *script.WORDS, b"HF_TOKEN=", b"'HF_TOKEN=", b'"API_KEY=', b"--api-key ", b"--a-", b"authorization: bearer ",
    b"://u:", b"@", b"Environment =", b"***", b"token=", b"K=\\ ", b"-", b"+",
)  # fmt: skip
SOURCES = (*script.SOURCES, *flat.SOURCES["dropin"], *flat.SOURCES["env_file"])


def case(rng: random.Random) -> str:
    source = mutated(rng.choice(SOURCES), WORDS, rng, others=SOURCES)
    return f"{rng.choice(PLAIN)}\n{source.decode('utf-8', 'surrogateescape')}"


def hold(case: str) -> None:
    masked = masking.mask_file(case)
    assert SECRET not in masked
    assert masking.mask_file(masked).count("\n") == masked.count("\n") == case.count("\n"), "lines were lost"
    masking.mask_logins(masking.mask_text(case))
