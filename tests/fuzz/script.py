"""Serve scripts: an edit is refused, or it is right, made once, and leaves every other line as it was."""

from __future__ import annotations

import contextlib
import subprocess
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import yaml

from runbook.edits import serve_script
from runbook.errors import EditRefusedError
from tests.fuzz.mutation import mutated

if TYPE_CHECKING:
    import random
    from collections.abc import Iterable
    from types import ModuleType

_CASES = Path(__file__).parent.parent / "cases" / "edits"
NAMES = ("K", "J", "SGLANG_OPT_USE_TOPK_V2", "SGLANG_OPT_USE_MULTI_STREAM_OVERLAP", "PATH", "NEW_NAME")
VALUES = (
    "0", "1", "", "a b", "it's", '"', "$(reboot)", "`id`", "$HOME", "-n", "--", "..", "a\nb", "\n", "\\", "a\\",
    "#x", "~", "!x", "é｜", "*", "${K}", "\x1b[2J", "\udcff", "x" * 3000, "EOF", "'; reboot; '", "=", "=1",
)  # fmt: skip
WORDS = (
    b"export ", b"export K=1\n", b"unset K\n", b"K=", b"+=", b"=(", b"[0]=", b"$(", b"`", b"${", b"}", b"$((", b"))", b"'",
    b'"', b"\\", b"\\\n", b"\n", b";", b"&", b"&&", b"|", b"||", b"<<EOF\n", b"EOF\n", b"<<-'X'\n", b"<<<", b"{", b"(",
    b")", b"if ", b"then ", b"fi\n", b"do ", b"done\n", b"case x in\n", b"esac\n", b"function f {", b"exec ", b"env ",
    b"eval ", b"source /x\n", b"set -a\n", b"declare -x ", b"read K\n", b"# ", b"\t", b"\x00", b"\r\n", b"\xff",
    b"\xef\xbb\xbf", b"python -m sglang.launch_server\n", b"$'", b"\\x41", b"#!/bin/sh\n", b"alias ", b"trap ",
    b"while read -r K; do\n", b"coproc ", b"[[ ", b" ]]", b"!", b"{1..3}", b"*", b"$K", b"local K=1\n", b"readonly K\n",
)  # fmt: skip


def _sources() -> list[bytes]:
    files = [path.read_bytes() for path in sorted(_CASES.glob("scripts/*.sh"))]
    tables = [
        yaml.load(path.read_text("utf-8"), yaml.CSafeLoader) for path in sorted(_CASES.glob("serve_*.yaml"))
    ]
    return [*files, *(case["text"].encode() for table in tables for case in table if "text" in case)]


SOURCES = _sources()


@dataclass(frozen=True, slots=True)
class Case:
    """A script and what is asked of it."""

    source: bytes
    wanted: dict[str, str]
    unwanted: tuple[str, ...]


def case(rng: random.Random) -> Case:
    source = mutated(rng.choice(SOURCES), WORDS, rng, most=3, others=SOURCES)
    names = rng.sample(NAMES, rng.randint(1, 2))
    wanted = {name: rng.choice(VALUES) for name in names if rng.random() < 0.6}
    return Case(source, wanted, tuple(name for name in names if name not in wanted))


def hold(case: Case) -> None:
    text = case.source.decode("utf-8", "surrogateescape")
    edited = edited_by(serve_script, text, case.wanted, case.unwanted)
    if edited is None or edited == text:
        return
    _hold_grammar(edited)
    before = serve_script.read(text).values
    names = {*case.wanted, *case.unwanted}
    if on_one_line(text, [*case.wanted.values(), *(before.get(name, "") for name in names)]):
        hold_outside(text, edited, names)


def edited_by(kind: ModuleType, text: str, wanted: dict[str, str], unwanted: tuple[str, ...]) -> str | None:
    """The text after an edit of a kind, which is right and made once; None where it is refused."""
    with contextlib.suppress(EditRefusedError):
        kind.read(text)
    try:
        edited: str = kind.edit(text, set=wanted, unset=unwanted)
    except EditRefusedError:
        return None
    assert kind.edit(edited, set=wanted, unset=unwanted) == edited, "a second edit changes it"
    found = kind.read(edited).values
    assert {name: found.get(name) for name in wanted} == wanted, "another value than asked for"
    assert not set(unwanted) & set(found), "still there"
    return edited


def hold_outside(text: str, edited: str, names: set[str]) -> None:
    """Every line that is gone or new has a name that was asked for, or is another but for what was put in or taken out."""
    old, new = (Counter(whole.split("\n")) for whole in (text, edited))
    gone, come = list(old - new), list(new - old)
    for lines, others in ((gone, come), (come, gone)):
        for line in lines:
            known = (
                not line
                or any(name in line for name in names)
                or any(_is_within(line, other) for other in others)
            )
            assert known, f"changed too: {line!r}"


def _is_within(line: str, other: str) -> bool:
    """Whether all characters of a line stand in another, in this order."""
    rest = iter(other)
    return all(char in rest for char in line)


def on_one_line(text: str, values: Iterable[str | None]) -> bool:
    """Whether each value is known to stand on one line: of several, only the first names its variable."""
    closed = all(line.count(quote) % 2 == 0 for line in text.split("\n") for quote in "'\"")
    known = not any(value is None or "\n" in value for value in values)
    return closed and known and "\\\n" not in text and "\r" not in text


def _hold_grammar(edited: str) -> None:
    done = subprocess.run(
        ["bash", "--norc", "--noprofile", "-n"],
        input=edited.encode("utf-8", "surrogateescape"),
        capture_output=True,
        timeout=20,
        check=False,
    )
    assert done.returncode == 0, done.stderr.decode("utf-8", "replace")
