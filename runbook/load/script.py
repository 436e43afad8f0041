"""What a session is to say and do, known in full before its first request."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from runbook.load.nonces import SHARED
from runbook.load.tokens import estimate

if TYPE_CHECKING:
    from runbook.load.nonces import Registry
    from runbook.load.tokens import Count


@dataclass(frozen=True, slots=True)
class Record:
    """One round's record: its key and its rows, all nonces of the session."""

    key: str
    rows: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Script:
    """One session: its number, its name (a nonce), filler lines for the prompt, a record a round.

    `shared` are the filler lines that all sessions begin with, `own` those of this session alone.
    """

    session: int
    name: str
    shared: tuple[str, ...]
    own: tuple[str, ...]
    records: tuple[Record, ...]

    @property
    def code(self) -> str:
        """The right argument of `finish`: first row of the first record, a hyphen, last row of the last."""
        return f"{self.records[0].rows[0]}-{self.records[-1].rows[-1]}"


@dataclass(frozen=True, slots=True)
class Shape:
    """Size of a session: rounds, rows a record, prompt filler in tokens, the share of it that all have."""

    rounds: int
    rows: int
    ctx: int
    shared_prefix: float = 0.0


def write_scripts(shape: Shape, sessions: range, registry: Registry, count: Count = estimate) -> list[Script]:
    """Scripts of the numbered sessions. Records come first: their groups are unique, filler's may not be."""
    records = {session: _records(shape, session, registry) for session in sessions}
    shared = _filler("archive", SHARED, shape.ctx * shape.shared_prefix, registry, count)
    own_ctx = shape.ctx * (1.0 - shape.shared_prefix)
    return [
        Script(
            session=session,
            name=registry.draw(session),
            shared=shared,
            own=_filler(f"session {session}", session, own_ctx, registry, count),
            records=records[session],
        )
        for session in sessions
    ]


def _records(shape: Shape, session: int, registry: Registry) -> tuple[Record, ...]:
    return tuple(
        Record(registry.draw(session), tuple(registry.draw(session) for _ in range(shape.rows)))
        for _ in range(shape.rounds)
    )


def _filler(of: str, owner: int, tokens: float, registry: Registry, count: Count) -> tuple[str, ...]:
    lines: list[str] = []
    spent = 0.0
    while spent < tokens:
        line = f"item {len(lines) + 1} of {of}: {registry.draw(owner, new_groups=False)}"
        lines.append(line)
        spent += count(f"{line}\n")
    return tuple(lines)
