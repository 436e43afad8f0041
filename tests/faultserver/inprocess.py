"""Sessions judged without a socket: streams are built, damaged, and judged as a replay would."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import TYPE_CHECKING

from runbook.load.exchange import Answer, Turn, turns
from runbook.load.nonces import Registry
from runbook.load.replay import judge_session
from runbook.load.script import Script, Shape, write_scripts
from tests.faultserver.damage import DAMAGES, Scene
from tests.faultserver.reply import Plan, encoded, events_of, plan_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from runbook.load.story import Record

    Answering = Callable[[Script, Turn, Plan], bytes]

MAX_TOKENS = 2000


@dataclass(frozen=True, slots=True)
class Table:
    """The scripts of some sessions and the registry they share."""

    registry: Registry
    scripts: Sequence[Script]
    rng: random.Random

    def strangers(self, session: int) -> list[str]:
        """Values of every other session."""
        records = [
            record for script in self.scripts if script.session != session for record in script.records
        ]
        return [row for record in records for row in record.rows]

    def play(self, script: Script, answering: Answering) -> Record:
        """The session's record when each turn is answered with that stream."""
        return judge_session(
            script, 0, self._answers(script, answering), self.registry, max_tokens=MAX_TOKENS
        )

    def _answers(self, script: Script, answering: Answering) -> Iterator[tuple[int, Answer]]:
        for turn in turns(script):
            yield (
                turn.number,
                Answer(answering(script, turn, plan_of(turn.name, dict(turn.arguments), self.rng))),
            )


def table(seed: int, *, sessions: int = 4, rounds: int = 2, rows: int = 24, ctx: int = 100) -> Table:
    registry = Registry(random.Random(seed))
    scripts = write_scripts(Shape(rounds, rows, ctx), range(sessions), registry)
    return Table(registry, scripts, random.Random(f"damage {seed}"))


def right(script: Script, turn: Turn, plan: Plan) -> bytes:
    """The stream of a correct server."""
    return encoded(events_of(plan))


def damaged(table: Table, kind: str, session: int, round_number: int) -> Answering:
    """Right streams but for one store_record of one session."""

    def answering(script: Script, turn: Turn, plan: Plan) -> bytes:
        if (script.session, turn.round, turn.name) != (session, round_number, "store_record"):
            return right(script, turn, plan)
        return DAMAGES[kind](Scene(plan, dict(turn.arguments), table.strangers(session), table.rng))

    return answering
