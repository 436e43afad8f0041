"""How much the corruption validation sees: `python -m benchmarks.detection [swaps] [seeds]` from the project's root.

First the table of classes: each is injected into one store_record turn of one session, beside clean sessions. Then
single-token swaps in the store_record turn at 24 rows, by DeepSeek's own tokenizer, encoder and parser: one token of
the turn is replaced by a random one, or by one of another session's value.
"""

from __future__ import annotations

import json
import random
import sys
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from runbook.lab.model.language import Call, Language, load_language
from runbook.lab.model.language import Turn as Said
from runbook.lab.model.request import parse_request
from runbook.lab.model.rooms import Prefilled
from runbook.lab.model.speaker import Speaker
from runbook.load import prompts
from runbook.load.assembly import Reply, assemble
from runbook.load.defects import Severity
from runbook.load.exchange import Answer, turns
from runbook.load.judgement import Judgement, judge_turn
from tests.faultserver.damage import DAMAGES
from tests.faultserver.inprocess import MAX_TOKENS, Table, damaged, table

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from runbook.load.script import Script

_ORDINARY_TOKENS = 128_000


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the table of classes."""

    kind: str
    injected: int
    caught: int
    as_itself: int
    false_alarms: int


def class_rows(seeds: Iterable[int]) -> list[Row]:
    """Inject every class once a seed; a false alarm is a defect of a session that was not damaged."""
    tables = [table(seed, sessions=2, rows=24, ctx=60) for seed in seeds]
    return [_row(kind, tables) for kind in DAMAGES]


def _row(kind: str, tables: Sequence[Table]) -> Row:
    caught = as_itself = false_alarms = 0
    for cards in tables:
        victim = cards.rng.randrange(2)
        for script in cards.scripts:
            record = cards.play(script, damaged(cards, kind, victim, cards.rng.randrange(1, 3)))
            hit = script.session == victim
            caught += hit and bool(record.seen)
            as_itself += hit and any(seen.defect.kind == kind for seen in record.seen)
            false_alarms += not hit and not record.clean
    return Row(kind, len(tables), caught, as_itself, false_alarms)


class Swapper:
    """A store_record turn as token ids, streamed by DeepSeek's parser with one token replaced."""

    def __init__(self, language: Language, cards: Table, script: Script) -> None:
        self._language, self._cards, self._script = language, cards, script
        self.turn = turns(script)[1]
        self._request = parse_request(_request(script), "m")
        call = Call(self.turn.name, prompts.as_json(self.turn.arguments))
        self.tokens = language.turn_ids(Said(calls=(call,)), thinking=False)

    def stream(self, tokens: Sequence[int]) -> bytes:
        """The client's bytes for these tokens, fed one by one."""
        prefilled = Prefilled(prompt_tokens=400, cached_tokens=0)
        speaker = Speaker(self._request, self._language.tokenizer, prefilled, id="chat", model="m")
        said = [speaker.start()]
        for token in tokens[:-1]:
            said.append(speaker.say([token]))
        return b"".join([*said, speaker.end(length=False)])

    def judged(self, stream: bytes) -> Judgement:
        return judge_turn(
            self._script, self.turn, Answer(stream), self._cards.registry, max_tokens=MAX_TOKENS
        )

    def swapped(self, rng: random.Random, *, nonce: bool) -> list[int]:
        """The turn's tokens with one replaced; the last, end of sentence, stays."""
        at = rng.randrange(len(self.tokens) - 1)
        stranger = self._language.tokenizer.encode(rng.choice(self._cards.strangers(self._script.session)))
        token = rng.choice(stranger) if nonce else rng.randrange(3, _ORDINARY_TOKENS)
        return [*self.tokens[:at], token, *self.tokens[at + 1 :]]


def _request(script: Script) -> bytes:
    fetched = prompts.assistant_message(
        "", [("call_1", "fetch_record", prompts.as_json({"key": script.records[0].key}))]
    )
    messages = [
        prompts.system_message(script),
        prompts.round_message(script, 1),
        fetched,
        prompts.fetch_answer(script.records[0], "call_1"),
    ]
    body = {
        "model": "m",
        "messages": messages,
        "tools": list(prompts.TOOLS),
        "stream": True,
        "max_tokens": MAX_TOKENS,
    }
    return json.dumps({**body, "stream_options": {"include_usage": True}}).encode()


def visible(reply: Reply, wanted: Reply) -> bool:
    """Whether a client can tell the two replies apart at all."""
    return _seen(reply) != _seen(wanted)


def _seen(reply: Reply) -> tuple[object, ...]:
    calls = tuple((call.name, call.arguments.text) for call in reply.calls)
    return reply.content.text, reply.reasoning.text, calls, reply.finish_reason


def noticed_as(judgement: Judgement) -> str:
    """What a swap was noticed as: hard by class, else by rate, else soft, else nothing."""
    for severity in (Severity.HARD, Severity.RATE, Severity.SOFT):
        for defect in judgement.defects:
            if defect.severity is severity:
                return f"{severity.value} {defect.kind}"
    return "corrupt" if judgement.corrupt else "unnoticed"


def swap_counts(swaps: int, *, nonce: bool, seed: int = 1) -> tuple[Counter[str], list[str]]:
    """How single-token swaps were noticed, and the arguments of those that were not."""
    rng, language = random.Random(seed), load_language()
    cards = table(seed, sessions=20, rounds=1, rows=24, ctx=60)
    swappers = [Swapper(language, cards, script) for script in cards.scripts]
    wanted = [assemble(swapper.stream(swapper.tokens)) for swapper in swappers]
    counts: Counter[str] = Counter()
    missed: list[str] = []
    for number in range(swaps):
        swapper, original = swappers[number % 20], wanted[number % 20]
        judgement = swapper.judged(swapper.stream(swapper.swapped(rng, nonce=nonce)))
        how = noticed_as(judgement) if visible(judgement.reply, original) else "invisible"
        counts[how] += 1
        if how == "unnoticed":
            missed.append(str(_seen(judgement.reply))[:300])
    return counts, missed


def power(counts: Counter[str]) -> float:
    """Share of the client-visible swaps that were noticed as hard, slip or miscopy."""
    visible_ones = sum(counts.values()) - counts["invisible"]
    unseen = sum(count for how, count in counts.items() if how == "unnoticed" or how.startswith("soft"))
    return 1.0 - unseen / max(1, visible_ones)


def main() -> None:
    swaps, seeds = (int(arg) for arg in (*sys.argv[1:], "2000", "20")[:2])
    say = sys.stdout.write
    say(f"{'class':<12}{'injected':>10}{'caught':>8}{'as itself':>11}{'false alarms':>14}\n")
    for row in class_rows(range(seeds)):
        say(f"{row.kind:<12}{row.injected:>10}{row.caught:>8}{row.as_itself:>11}{row.false_alarms:>14}\n")
    for nonce, what in ((False, "any token"), (True, "a token of another session's value")):
        counts, missed = swap_counts(swaps, nonce=nonce)
        say(f"\n{swaps} single-token swaps with {what}, store_record turn, 24 rows:\n")
        for how, count in counts.most_common():
            say(f"  {how:<20}{count:>6}\n")
        say(f"  noticed of the visible ones (hard, slip or miscopy): {power(counts):.1%}\n")
        for text in missed[:5]:
            say(f"    unnoticed: {text}\n")


if __name__ == "__main__":
    main()
