"""A text is given to the parser once, however often a plan asks about it."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING, Any

from runbook import planning
from runbook.model import Argument, Flag
from runbook.places import arguments
from tests.building import DECODE, UNITS, host, observation, unit_state

if TYPE_CHECKING:
    import pytest


def test_a_plan_that_changes_nothing_parses_each_script_once(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    start = subprocess.Popen.__init__

    def counted(self: subprocess.Popen[Any], args: Any, *rest: Any, **kwargs: Any) -> None:
        asked.append(str(args[0]).rpartition("/")[2])
        start(self, args, *rest, **kwargs)

    monkeypatch.setattr(subprocess.Popen, "__init__", counted)
    argument = Argument("--mem-fraction-static", "0.9", "room")
    unit = UNITS[1]._replace(args=(argument,))
    script = b"#!/bin/bash\nexport K=parsed-once\nexec python -m x --mem-fraction-static 0.9\n"
    seen = observation(
        decode=script, units={"decode.service": unit_state("decode.service", {"K": "parsed-once"})}
    )
    made = planning.deploy(
        host(units=(unit,), flags=(Flag("K", "parsed-once", "a reason", ("decode",)),)), seen
    )
    assert (made.changes, sorted(asked)) == ((), ["bash", "shfmt"])
    assert arguments.of_script(seen.files[DECODE].content or b"").tells("--mem-fraction-static")
    assert len(asked) == 2
