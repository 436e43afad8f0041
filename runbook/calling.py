"""A wire that tells of every call it carries: what `-v` shows."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from runbook.errors import RunbookError
from runbook.events import Called

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from runbook.events import Event
    from runbook.ssh import Mode, Wire

# Arguments that say what a call is about; the others are contents, or may hold what nobody should read.
_ABOUT = ("unit", "units", "id", "job", "ports", "step", "lines", "since", "grep", "after")


@dataclass(frozen=True, slots=True)
class TellingWire:
    """`wire`, with a `Called` told after each call; `clock` returns seconds."""

    wire: Wire
    tell: Callable[[Event], None]
    clock: Callable[[], float] = time.monotonic

    @property
    def mode(self) -> Mode:
        return self.wire.mode

    def call(self, name: str, /, *, deadline_s: float = 60.0, **args: Any) -> Any:
        started, about = self.clock(), about_of(args)
        try:
            value = self.wire.call(name, deadline_s=deadline_s, **args)
        except RunbookError as error:
            self.tell(Called(name, about, self.clock() - started, str(error) or type(error).__name__, args))
            raise
        self.tell(Called(name, about, self.clock() - started, None, args, value))
        return value


def about_of(args: Mapping[str, Any]) -> str:
    """`unit=decode.service`, `units=a,b`: the arguments that name something, never contents."""
    named = ((key, args[key]) for key in _ABOUT if args.get(key) not in (None, "", []))
    return " ".join(f"{key}={_listed(value)}" for key, value in named)


def _listed(value: Any) -> str:
    return ",".join(str(one) for one in value) if isinstance(value, list | tuple) else str(value)
