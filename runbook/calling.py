"""A wire that tells of every call it carries: what `-v` shows."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from runbook import programs
from runbook.errors import RunbookError
from runbook.events import Called
from runbook.ssh.row import ROW
from runbook.ssh.wire import is_answer, value

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from runbook.events import Event
    from runbook.ssh import Mode
    from runbook.ssh.row import Asked
    from runbook.ssh.wire import AnsweringWire

# Arguments that say what a call is about; the others are contents, or may hold what nobody should read.
_ABOUT = ("unit", "units", "id", "job", "ports", "step", "lines", "since", "grep", "after")


@dataclass(frozen=True, slots=True)
class TellingWire:
    """`wire`, with a `Called` told after each call, those of a row one by one; `clock` returns seconds."""

    wire: AnsweringWire
    tell: Callable[[Event], None]
    clock: Callable[[], float] = time.monotonic

    @property
    def mode(self) -> Mode:
        return self.wire.mode

    def call(self, name: str, /, *, deadline_s: float = 60.0, **args: Any) -> Any:
        started, about = self.clock(), about_of(args) if name != ROW else _names(args)
        answer: Mapping[str, Any] = {}
        try:
            answer = self.wire.answer(name, deadline_s=deadline_s, **args)
            found = value(answer, name)
        except RunbookError as error:
            took_s, ran = self.clock() - started, programs.of_answer(answer)
            self.tell(Called(name, about, took_s, str(error) or type(error).__name__, args, programs=ran))
            raise
        took_s, ran = self.clock() - started, programs.of_answer(answer)
        whole = Called(name, about, took_s, None, args, found, programs=ran)
        for called in _each(whole) if name == ROW else (whole,):
            self.tell(called)
        return found

    def ask_ahead(self, *row: Asked) -> None:
        self.wire.ask_ahead(*row)


def _each(row: Called) -> Sequence[Called]:
    """The calls of a row as if they had been made one by one: nothing that was done may hide in it."""
    answers = [answer for answer in row.value if is_answer(answer)] if isinstance(row.value, list) else []
    made = list(zip(row.args["calls"], answers, strict=False))
    lasted = [programs.seconds(answer.get("took_s")) for _, answer in made]
    return [
        Called(
            one["call"],
            about_of(one["args"]),
            lasted[place],
            str(answer["error"]["message"]) if "error" in answer else None,
            one["args"],
            answer.get("ok"),
            ago_s=sum(lasted[place + 1 :]),
            programs=programs.of_answer(answer),
        )
        for place, (one, answer) in enumerate(made)
    ]


def _names(args: Mapping[str, Any]) -> str:
    return " ".join(one["call"] for one in args["calls"])


def about_of(args: Mapping[str, Any]) -> str:
    """`unit=decode.service`, `units=a,b`: the arguments that name something, never contents."""
    named = ((key, args[key]) for key in _ABOUT if args.get(key) not in (None, "", []))
    return " ".join(f"{key}={_listed(value)}" for key, value in named)


def _listed(value: Any) -> str:
    return ",".join(str(one) for one in value) if isinstance(value, list | tuple) else str(value)
