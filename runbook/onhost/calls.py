"""Calls: functions the controller may ask for by name, each with the least mode that may ask for it."""

from __future__ import annotations

from typing import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any, Callable

    from runbook.onhost.session import Session

MODES = ("reading", "running", "writing")  # each may do what those before it may


class Refusal(Exception):
    """An answer that is no value. `kind` is one of docs/architecture.md's error kinds, `data` is JSON."""

    def __init__(self, kind: str, message: str, data: Mapping[str, Any] | None = None) -> None:
        super().__init__(message)
        self.kind = kind
        self.message = message
        self.data = dict(data or {})


class Call(NamedTuple):
    """A callable part of the helper; its first argument is the session, the others go by name."""

    name: str
    mode: str
    run: Callable[..., Any]

    def __call__(self, session: Session, **args: Any) -> Any:
        return self.run(session, **args)


def reading(run: Callable[..., Any]) -> Call:
    """Declare a call that changes nothing."""
    return Call(run.__name__, "reading", run)


def running(run: Callable[..., Any]) -> Call:
    """Declare a call that starts load or writes the cache or the audit."""
    return Call(run.__name__, "running", run)


def writing(run: Callable[..., Any]) -> Call:
    """Declare a call that changes the host."""
    return Call(run.__name__, "writing", run)


def permit(call: Call, mode: str) -> None:
    """Refusal `refused` where `mode` is below what the call needs."""
    if MODES.index(mode) < MODES.index(call.mode):
        raise Refusal("refused", f"{call.name} is a {call.mode} call and this wire is only {mode}")
