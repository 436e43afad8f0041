"""Several calls in one round trip: in the order given, each under its own mode, and none after one that fails."""

from __future__ import annotations

import time

from runbook.onhost import dispatch
from runbook.onhost.calls import Refusal, reading

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from runbook.onhost.session import Session


@reading
def several(session: Session, calls: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """An answer a call, `{"ok" | "error", "took_s"}`; an error is the last.

    That is what makes a row as safe as calls one by one: what follows a call relies on its having worked.
    """
    if any(one["call"] == "several" for one in calls):
        raise Refusal("invalid", "a row of calls holds no other row")
    answers: list[dict[str, Any]] = []
    for one in calls:
        began = time.monotonic()
        answer = dispatch.answer({"id": None, "call": one["call"], "args": one.get("args")}, session)
        answers.append({**answer, "took_s": time.monotonic() - began})
        if "error" in answer:
            break
    return answers
