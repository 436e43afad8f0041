"""Frames: cut anywhere they say the same, cost memory by what arrived, and a helper answers or ends, and writes nothing."""

from __future__ import annotations

import io
import json
import os
import tempfile
import tracemalloc
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from runbook.onhost import frames
from runbook.onhost.dispatch import MODULES
from runbook.onhost.serve import Server
from runbook.onhost.session import Session
from tests.fuzz.mutation import cuts, mutated

if TYPE_CHECKING:
    import random

WORDS = (
    b"\x00\x00\x00\x02{}",
    b"\x00\x00\x00\x00", b"\x00\x00\x00\x01", b"\xff\xff\xff\xff", b"\x04\x00\x00\x00", b"\x04\x00\x00\x01",
    b"\x00", b"\xff", b"[" * 4000, b'{"a":' * 1500, b"[" * 200 + b"]" * 200, b"[]", b"{}", b"null", b"NaN", b"-Infinity",
    b"1e999", b"9" * 5000, b'"', b"\\", b"\\ud800", b'"id":1,', b'"call":"ping",', b'"args":', b'"../../../etc"', b"Infinity",
    b"[{},{},{},{},{},{},{},{}]", b",", b":", b"\xef\xbb\xbf", b"true",
)  # fmt: skip
ODD: tuple[Any, ...] = (
    None, True, 0, -1, 2**70, 0.5, "", "x", "-rf", "--root=/", "../..", "/", "/etc/shadow", "a\nb", "\x00", "\ud800",
    "$(reboot)", "`id`", "'; reboot; '", "*", "[", "(a+)+$", "x" * 2000, [], ["--force"], [[]], {}, {"a": 1}, [None], ["*"],
)  # fmt: skip
ARGUMENTS = (
    "state", "files", "units", "names", "patterns", "calls", "unit", "lines", "since", "grep", "ports", "id", "offset",
    "sha256", "checkout", "words", "digest", "changes", "argv", "record", "manifest", "doc", "keep",
)  # fmt: skip
# What asks systemd or the driver is slow, and says the same to everybody: the calls that read what they are told to.
CALLS = sorted(
    {name for names in MODULES.values() for name in names}
    - {
        "gpus",
        "xids",
        "units",
        "serving",
        "journal",
        "listening",
        "engine",
        "machine",
        "audit_heads",
        "observe",
    }
)
_BYTES_OF_ONE = 80  # of memory for a byte of JSON: an empty object of two costs 64 and its place in a list
_AT_LEAST = 1 << 18
TRACED = True


@dataclass(frozen=True, slots=True)
class Case:
    """Bytes on the channel, and where they were cut."""

    stream: bytes
    pieces: tuple[bytes, ...]


def case(rng: random.Random) -> Case:
    stream = b"".join(frames.encode(_request(number, rng)) for number in range(1, rng.randint(2, 6)))
    if rng.random() < 0.6:
        stream = mutated(stream, WORDS, rng)
    return Case(stream, tuple(cuts(stream, rng)))


def _request(number: int, rng: random.Random) -> Any:
    if rng.random() < 0.1:
        return rng.choice(ODD)
    args = {rng.choice(ARGUMENTS): rng.choice(ODD) for _ in range(rng.randint(0, 4))}
    if rng.random() < 0.6:
        args["state"] = "STATE"
    request = {"id": number, "call": rng.choice(CALLS), "args": args}
    if rng.random() < 0.2:
        request[rng.choice(("id", "call", "args"))] = rng.choice(ODD)
    return request


def hold(case: Case) -> None:
    tracemalloc.reset_peak()
    before = tracemalloc.get_traced_memory()[0]
    decoded = _decoded(case.pieces)
    peak = tracemalloc.get_traced_memory()[1] - before
    assert peak < _AT_LEAST + _BYTES_OF_ONE * len(case.stream), f"{peak} bytes for {len(case.stream)}"
    _hold_cuts(decoded, _decoded((case.stream,)))
    for document in decoded[0]:
        assert frames.Decoder().feed(frames.encode(document)) == [document]
    _hold_serving(decoded[0])


def _hold_cuts(one: tuple[list[Any], bool], other: tuple[list[Any], bool]) -> None:
    """Nothing depends on the cuts, but for what stands right before noise, which may be lost with it."""
    shorter, longer = sorted((one, other), key=lambda decoded: len(decoded[0]))
    assert shorter[1] == longer[1], "whether it is refused depends on the cuts"
    assert shorter[1] or len(shorter[0]) == len(longer[0]), "what arrives depends on the cuts"
    assert shorter[0] == longer[0][: len(shorter[0])], "what arrives depends on the cuts"


def _decoded(pieces: tuple[bytes, ...]) -> tuple[list[Any], bool]:
    """The documents, and whether the stream was refused behind them."""
    decoder = frames.Decoder()
    documents: list[Any] = []
    try:
        for piece in pieces:
            documents += decoder.feed(piece)
    except frames.FrameError:
        return documents, True
    return documents, False


def _hold_serving(documents: list[Any]) -> None:
    """A reading helper answers what it can in order, ends with its link, and leaves the disk alone."""
    with tempfile.TemporaryDirectory() as folder:
        state = Path(folder) / "state"
        state.mkdir(mode=0o700)
        (state / "audit.jsonl").write_bytes(b'{"seq":1}\n')
        before = _tree(Path(folder))
        out = io.BytesIO()
        requests = [_placed(document, str(state)) for document in documents]
        Server(Session("reading"), out).serve(iter(requests))
        assert _tree(Path(folder)) == before, "a reading helper wrote"
    asked = [one.get("id") for one in requests if isinstance(one, dict)]
    for answer in frames.read(io.BufferedReader(io.BytesIO(out.getvalue()))):
        assert answer["id"] in asked, "an answer to nobody"
        assert ("ok" in answer) != ("error" in answer)


def _placed(document: Any, state: str) -> Any:
    text = json.dumps(document).replace('"STATE"', json.dumps(state))
    return json.loads(text)


def _tree(folder: Path) -> list[tuple[str, int, int]]:
    found = []
    for path, directories, files in os.walk(folder):
        for name in (*directories, *files):
            status = (Path(path) / name).lstat()
            found.append((f"{path}/{name}", status.st_size, status.st_mtime_ns))
    return sorted(found)
