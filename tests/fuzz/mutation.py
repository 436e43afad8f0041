"""Changes to bytes that a reader may meet: pieces lost, doubled, moved, replaced, and words it is sensitive to."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import random
    from collections.abc import Callable, Sequence

LONGEST = 64 * 1024  # bytes of a case: what is slower than linear shows itself there


def mutated(
    source: bytes, words: Sequence[bytes], rng: random.Random, *, most: int = 6, others: Sequence[bytes] = ()
) -> bytes:
    """The bytes after up to `most` changes; `others` lend pieces of theirs."""
    for _ in range(rng.randint(1, most)):
        source = rng.choice(_WAYS)(source, words, others or (source,), rng)[:LONGEST]
    return source


def cuts(source: bytes, rng: random.Random) -> list[bytes]:
    """The bytes in pieces: a few large ones, many small ones, or byte by byte."""
    size = rng.choice((1, 3, 17, 200, 5000))
    pieces, at = [], 0
    while at < len(source):
        step = rng.randint(1, size) if len(source) < 200 * size else max(1, len(source) // 150)
        pieces.append(source[at : at + step])
        at += step
    return pieces


def _span(source: bytes, rng: random.Random) -> tuple[int, int]:
    start = rng.randint(0, len(source))
    return start, min(len(source), start + rng.choice((1, 2, 5, 20, 100)))


def _lost(source: bytes, words: Sequence[bytes], others: Sequence[bytes], rng: random.Random) -> bytes:
    start, end = _span(source, rng)
    return source[:start] + source[end:]


def _word(source: bytes, words: Sequence[bytes], others: Sequence[bytes], rng: random.Random) -> bytes:
    start, end = _span(source, rng)
    return source[:start] + rng.choice(words) + source[rng.choice((start, end)) :]


def _repeated(source: bytes, words: Sequence[bytes], others: Sequence[bytes], rng: random.Random) -> bytes:
    start, end = _span(source, rng)
    return source[:end] + source[start:end] * rng.choice((1, 2, 9, 400)) + source[end:]


def _moved(source: bytes, words: Sequence[bytes], others: Sequence[bytes], rng: random.Random) -> bytes:
    start, end = _span(source, rng)
    rest, at = source[:start] + source[end:], rng.randint(0, len(source))
    return rest[:at] + source[start:end] + rest[at:]


def _bytes(source: bytes, words: Sequence[bytes], others: Sequence[bytes], rng: random.Random) -> bytes:
    start, end = _span(source, rng)
    return source[:start] + rng.randbytes(rng.randint(1, 4)) + source[end:]


def _lent(source: bytes, words: Sequence[bytes], others: Sequence[bytes], rng: random.Random) -> bytes:
    other = rng.choice(others)
    start, end = _span(other, rng)
    at = rng.randint(0, len(source))
    return source[:at] + other[start:end] + source[at:]


def _line(source: bytes, words: Sequence[bytes], others: Sequence[bytes], rng: random.Random) -> bytes:
    """A whole line of another, in the place of one of ours."""
    lines, theirs = source.split(b"\n"), rng.choice(others).split(b"\n")
    at = rng.randrange(len(lines))
    return b"\n".join([*lines[:at], rng.choice(theirs), *lines[at + rng.randint(0, 1) :]])


def _cut_off(source: bytes, words: Sequence[bytes], others: Sequence[bytes], rng: random.Random) -> bytes:
    return source[: rng.randint(0, len(source))]


_WAYS: tuple[Callable[[bytes, Sequence[bytes], Sequence[bytes], random.Random], bytes], ...] = (
    _lost,
    _word,
    _word,
    _word,
    _repeated,
    _moved,
    _bytes,
    _lent,
    _line,
    _cut_off,
)
