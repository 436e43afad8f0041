"""A bench by the user's own script: its last lines are kept as evidence, and no number is read out of them."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from runbook.validations import LINE_CHARACTERS, shell
from runbook.validations.bench import Judged
from runbook.verdict import Finding, Outcome

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from runbook.model import BenchCommand
    from runbook.validations import Ended, Jobs

KIND = "bench-command"
EVIDENCE_LINES = 20
_LINE_CHARACTERS = 400
_TIMED_OUT = (124, 137)  # of timeout(1): by TERM, and by the KILL after it


def measure(jobs: Jobs, spec: BenchCommand, say: Callable[[str, Mapping[str, Any]], None]) -> dict[str, Any]:
    """Run the script on the host, by `/bin/sh -c` as the host file wrote it, for at most `timeout_s` seconds."""
    started = time.monotonic()
    ended = jobs.run(
        shell(spec.run, spec.timeout_s), lambda line: say(line[:LINE_CHARACTERS], {}), keep=EVIDENCE_LINES
    )
    return document(spec, ended, time.monotonic() - started)


def document(spec: BenchCommand, ended: Ended, wall_s: float) -> dict[str, Any]:
    """`{"schema", "kind", "run", "exit", "wall_s", "outcome", "lines"}`; the outcome is never a pass."""
    return {
        "schema": 1,
        "kind": KIND,
        "run": spec.run,
        "exit": ended.exit,
        "wall_s": round(wall_s, 3),
        "outcome": Outcome.INCONCLUSIVE.value,
        "lines": _last(ended.lines or ended.stderr.splitlines()),
    }


def _last(lines: Sequence[str]) -> list[str]:
    return [line[:_LINE_CHARACTERS] for line in lines[-EVIDENCE_LINES:]]


def comparable(kept: Mapping[str, Any] | None, spec: BenchCommand) -> bool:
    """Whether a kept result is of this very command, and the command ended well."""
    return kept is not None and kept.get("kind") == KIND and kept["run"] == spec.run and kept["exit"] == 0


def judge(result: Mapping[str, Any], baseline: Mapping[str, Any] | None, spec: BenchCommand) -> Judged:
    """One finding that says what can be concluded and what not, and the lines of before and after for a person to read."""
    before = baseline if comparable(baseline, spec) else None
    outcome, message = _concluded(result, before, spec)
    evidence = {
        "run": spec.run,
        "exit": result["exit"],
        "lines": result["lines"],
        "before": before and before["lines"],
    }
    table = (*_shown("before", before), *_shown("after", result))
    return Judged(None, (Finding("bench", outcome, message, evidence),), table)


def _concluded(
    result: Mapping[str, Any], before: Mapping[str, Any] | None, spec: BenchCommand
) -> tuple[Outcome, str]:
    ran = f"the command of bench ended with exit {result['exit']} after {result['wall_s']:.0f} s"
    if result["exit"] in _TIMED_OUT:
        return (
            Outcome.INCONCLUSIVE,
            f"{ran}: it was stopped at its {spec.timeout_s:.0f} s, nothing is concluded",
        )
    if result["exit"] != 0:
        return Outcome.INCONCLUSIVE, f"{ran}: it did not end well, nothing is concluded"
    if not result["lines"]:
        return Outcome.INCONCLUSIVE, f"{ran} and printed nothing"
    kept = "those of before stand beside them" if before else "there are none of the state before"
    cannot = f"its last lines are kept, {kept}; runbook reads no number out of them and cannot say whether it is slower"
    if spec.accept:
        return Outcome.PASS, f"{ran}; {cannot}; accepted: {spec.accept}"
    return Outcome.INCONCLUSIVE, f"{ran}; {cannot} (`accept` in bench lets that pass)"


def _shown(when: str, result: Mapping[str, Any] | None) -> list[str]:
    if result is None:
        return [f"{when}: not measured with this command"]
    return [
        f"{when}, exit {result['exit']} after {result['wall_s']:.0f} s:",
        *(f"  {line}" for line in result["lines"]),
    ]
