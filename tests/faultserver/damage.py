"""Damage by corruption class: what the stream of a right reply looks like when a server spoils it."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from runbook.load.nonces import ALPHABET, well_formed
from tests.faultserver.reply import Plan, encoded, events_of, pieces, usage_of

if TYPE_CHECKING:
    import random
    from collections.abc import Callable, Sequence

BOS, DSML = "<｜begin▁of▁sentence｜>", "<｜DSML｜tool_calls>"


@dataclass(frozen=True, slots=True)
class Scene:
    """A right store_record reply about to be spoiled. `strangers` are values of other sessions."""

    plan: Plan
    arguments: dict[str, Any]
    strangers: Sequence[str]
    rng: random.Random
    max_tokens: int = 2000

    @property
    def rows(self) -> list[str]:
        return list(self.arguments["rows"])

    def storing(self, rows: Sequence[str]) -> bytes:
        """The stream of the reply with other rows."""
        return encoded(events_of(self.plan.with_text(json.dumps({**self.arguments, "rows": list(rows)}))))

    def saying(self, content: str) -> bytes:
        """The stream of the reply with text before the call."""
        return encoded(events_of(replace(self.plan, content=pieces(content, self.rng.randint(1, 9)))))

    def one_of(self, *ways: Callable[[], bytes]) -> bytes:
        return self.rng.choice(ways)()


def flood(scene: Scene) -> bytes:
    at = scene.rng.randrange(len(scene.plan.text))
    unit = scene.rng.choice(("!", "the", "\u4e00", BOS))
    nan = events_of(scene.plan)
    nan[-2]["choices"][0]["matched_stop"] = "NaN happened"
    return scene.one_of(
        lambda: encoded(events_of(scene.plan.with_text(scene.plan.text[:at] + unit * 90))),
        lambda: scene.saying(f"Well {BOS}"),
        lambda: scene.saying(unit * 90),
        lambda: encoded(nan),
    )


def leak(scene: Scene) -> bytes:
    marker = scene.rng.choice(
        (
            DSML,
            "<｜DSM｜tool_calls>",
            "</think>",
            "<｜tool▁calls▁begin｜>",
            'invoke name="store_record"',
            "<｜Assistant｜>",
        )
    )
    return scene.saying(f"So {marker} now")


def badtool(scene: Scene) -> bytes:
    return scene.one_of(
        lambda: encoded(events_of(replace(scene.plan, name="store_recrod"))),
        lambda: encoded(events_of(replace(scene.plan, name="fetch_record"))),
        lambda: encoded(events_of(replace(scene.plan, name=None, finish="stop"))),
    )


def merged(scene: Scene) -> bytes:
    events = events_of(scene.plan)
    calls = [event for event in events if event["choices"] and "tool_calls" in event["choices"][0]["delta"]]
    middle = calls[scene.rng.randrange(1, len(calls))]["choices"][0]["delta"]["tool_calls"][0]
    second = json.loads(json.dumps(calls[0]))
    second["choices"][0]["delta"]["tool_calls"][0]["index"] = 1

    def other_id() -> bytes:
        middle["id"] = "call_of_somebody_else"
        return encoded(events)

    return scene.one_of(
        other_id,
        lambda: encoded([*events[:-2], second, *events[-2:]]),
        lambda: encoded(events_of(scene.plan.with_text(scene.plan.text * 2))),
    )


def truncated(scene: Scene) -> bytes:
    events = events_of(scene.plan)
    stream = encoded(events)
    return scene.one_of(
        lambda: stream[: scene.rng.randrange(200, len(stream) - 20)],
        lambda: encoded(events, done=False),
        lambda: encoded(events[: scene.rng.randrange(1, len(events) - 2)]),
    )


def foreign(scene: Scene) -> bytes:
    rows, at = scene.rows, scene.rng.randrange(len(scene.rows))
    stranger = scene.rng.choice(scene.strangers)
    return scene.one_of(
        lambda: scene.storing([*rows[:at], stranger, *rows[at + 1 :]]),
        lambda: scene.saying(f"I store {stranger}, and go on."),
    )


def badvalue(scene: Scene) -> bytes:
    rows, at = scene.rows, scene.rng.randrange(len(scene.rows))
    return scene.storing([*rows[:at], nobodys(scene.rng), *rows[at + 1 :]])


def slip(scene: Scene) -> bytes:
    rows, at = scene.rows, scene.rng.randrange(len(scene.rows))
    groups = rows[at].split("-")
    other = scene.rng.choice(scene.strangers).split("-")[scene.rng.randrange(3)]
    groups[scene.rng.randrange(3)] = scene.rng.choice((other, other[:2], nobodys(scene.rng)[:4]))
    return scene.storing([*rows[:at], "-".join(groups), *rows[at + 1 :]])


def miscopy(scene: Scene) -> bytes:
    rows, at = scene.rows, scene.rng.randrange(1, len(scene.rows))
    return scene.one_of(
        lambda: scene.storing([*rows[:at], *rows[at + 1 :]]),
        lambda: scene.storing([*rows[:at], rows[at - 1], *rows[at:]]),
        lambda: scene.storing([*rows[: at - 1], rows[at], rows[at - 1], *rows[at + 1 :]]),
    )


def badutf8(scene: Scene) -> bytes:
    stream = scene.saying("Now I do it, and nothing else.")
    at = stream.index(b'"content": "', 200) + len(b'"content": "')
    rows = scene.rows
    broken = [rows[0][:5] + "\N{REPLACEMENT CHARACTER}", *rows[1:]]
    return scene.one_of(lambda: stream[:at] + b"\xff\xc3" + stream[at:], lambda: scene.storing(broken))


def badusage(scene: Scene) -> bytes:
    counts = scene.rng.choice(
        (
            usage_of(400, scene.max_tokens + scene.rng.randrange(1, 1000)),
            {"prompt_tokens": 400, "completion_tokens": 300, "total_tokens": 701},
            {"prompt_tokens": -1, "completion_tokens": 300, "total_tokens": 299},
        )
    )
    events = events_of(scene.plan)
    return encoded([*events[:-1], {**events[-1], "usage": counts}])


def streamerror(scene: Scene) -> bytes:
    events = events_of(scene.plan)
    error = {"error": {"message": "decode worker gone", "code": 500}}
    return encoded([*events[: scene.rng.randrange(1, len(events))], error], done=scene.rng.random() < 0.5)


def badjson(scene: Scene) -> bytes:
    text = scene.plan.text
    spoiled = scene.rng.choice(
        (text[:-1], text.replace('"rows"', '"key"', 1), text.replace("[", "", 1), text + "]")
    )
    return encoded(events_of(scene.plan.with_text(spoiled)))


def badfinish(scene: Scene) -> bytes:
    return encoded(events_of(replace(scene.plan, finish=scene.rng.choice(("length", "abort", "unknown")))))


def garbled(scene: Scene) -> bytes:
    words = ("привет", "नमस्ते", "สวัสดี", "γειά", "سلام", "你好吗", "გამარჯობა")
    return scene.one_of(
        lambda: scene.saying("I " + " ".join(scene.rng.sample(words, 5)) + " store"),
        lambda: scene.saying("I stпrе the rеcord"),
    )


def loop(scene: Scene) -> bytes:
    return scene.saying("I will now store all the rows again and " * scene.rng.randint(6, 12))


def empty(scene: Scene) -> bytes:
    events = events_of(replace(scene.plan, name=None, finish="stop"))
    return encoded([*events[:-1], {**events[-1], "usage": usage_of(400, scene.rng.randrange(2, 12))}])


def duplicate(scene: Scene) -> bytes:
    text = "".join(scene.rng.choices("abcdefghij klmno", k=scene.rng.randint(60, 120)))
    stutter = [piece for piece in pieces(text, scene.rng.randint(2, 7)) for _ in range(2)]
    content = scene.rng.choice((("Well, ", text, text, " so."), ("Well, ", *stutter, " so.")))
    return encoded(events_of(replace(scene.plan, content=content)))


def nobodys(rng: random.Random) -> str:
    """The shape of a nonce, and nobody's."""
    while True:
        text = "-".join("".join(rng.choices(ALPHABET, k=4)) for _ in range(3))
        if not well_formed(text):
            return text


DAMAGES: dict[str, Callable[[Scene], bytes]] = {
    damage.__name__: damage
    for damage in (
        flood,
        leak,
        badtool,
        merged,
        truncated,
        foreign,
        badvalue,
        slip,
        miscopy,
        badutf8,
        badusage,
        streamerror,
        badjson,
        badfinish,
        garbled,
        loop,
        empty,
        duplicate,
    )
}
