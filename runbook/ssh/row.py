"""Calls that go to the host as a row: one round trip, one after the other there, none after one that fails."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from runbook.errors import HelperError
from runbook.ssh.wire import is_answer, value

if TYPE_CHECKING:
    from collections.abc import Mapping

    from runbook.ssh.wire import Wire

ROW = "several"


class Asked(NamedTuple):
    """One call of a row."""

    name: str
    args: Mapping[str, Any]


def asked(name: str, /, **args: Any) -> Asked:
    return Asked(name, args)


def in_one(*row: Asked) -> Asked:
    """The row as the one call that goes to the host."""
    return asked(ROW, calls=[{"call": one.name, "args": dict(one.args)} for one in row])


def together(wire: Wire, *row: Asked, deadline_s: float = 60.0) -> list[Any]:
    """The values of all calls, in their order; raises the error of the first that fails, after which none was made.

    For calls each of which needs the one before it to have worked, but nothing of its answer.
    """
    answers = wire.call(ROW, deadline_s=deadline_s, **in_one(*row).args)
    if not isinstance(answers, list) or not all(map(is_answer, answers)):
        raise HelperError(f"{ROW}: the host sent something that is no row of answers")
    values = [value(answer, one.name) for one, answer in zip(row, answers, strict=False)]
    if len(values) != len(row):
        raise HelperError(f"{ROW}: {len(row)} calls were made, {len(answers)} were answered")
    return values
