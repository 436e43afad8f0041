"""Drop-ins and environment files: an edit is refused, or it is right, made once, and leaves every other line as it was."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import yaml

from runbook import edits
from tests.fuzz.mutation import mutated
from tests.fuzz.script import NAMES, VALUES, edited_by, hold_outside, on_one_line

if TYPE_CHECKING:
    import random

_CASES = Path(__file__).parent.parent / "cases" / "edits"
KINDS = ("dropin", "env_file")
WORDS = (
    b"[Service]\n", b"[Unit]\n", b"[", b"]", b"Environment=", b"Environment=\n", b"EnvironmentFile=-/etc/x\n",
    b"PassEnvironment=K\n", b"UnsetEnvironment=K\n", b"K=", b"K=1 ", b"'K=a b'", b'"K=', b"'", b'"', b"\\", b"\\\n",
    b"\n", b"#", b";", b" ", b"\t", b"=", b"%i", b"%%", b"$K", b"\\x41", b"\\s", b"\\101", b"\x00", b"\r\n", b"\xff",
    b"\xef\xbb\xbf", b"export ", b"x" * 3000, b".include /x\n", b"\xe2\x80\xa8", b"\x1b[2J",
)  # fmt: skip


def _sources(kind: str) -> list[bytes]:
    cases = yaml.load((_CASES / f"{kind}.yaml").read_text("utf-8"), yaml.CSafeLoader)
    return [case["text"].encode() for case in cases]


SOURCES = {kind: _sources(kind) for kind in KINDS}


@dataclass(frozen=True, slots=True)
class Case:
    """A file of a kind and what is asked of it."""

    kind: str
    source: bytes
    wanted: dict[str, str]
    unwanted: tuple[str, ...]


def case(rng: random.Random) -> Case:
    kind = rng.choice(KINDS)
    source = mutated(rng.choice(SOURCES[kind]), WORDS, rng, others=SOURCES[kind])
    names = rng.sample(NAMES, rng.randint(1, 2))
    wanted = {name: rng.choice(VALUES) for name in names if rng.random() < 0.6}
    return Case(kind, source, wanted, tuple(name for name in names if name not in wanted))


def hold(case: Case) -> None:
    kind, text = edits.named(case.kind), case.source.decode("utf-8", "surrogateescape")
    edited = edited_by(kind, text, case.wanted, case.unwanted)
    if edited is None or edited == text:
        return
    before, after = kind.read(text).values, kind.read(edited).values
    names = {*case.wanted, *case.unwanted}
    others = before.keys() - names
    assert {name: after.get(name) for name in others} == {name: before[name] for name in others}
    if on_one_line(text, [*case.wanted.values(), *(before.get(name, "") for name in names)]):
        hold_outside(text, edited, {*names, "[Service]"})
