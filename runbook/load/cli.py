"""`python -m runbook.load repro`: the corruption validation with the original script's option names.

Exit 0 pass, 1 fail, 2 the command line or the endpoint's answer makes no sense, 3 inconclusive or nobody answers.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from typing import TYPE_CHECKING, Any

from runbook.load.arguments import add_arguments, asked_of
from runbook.load.crew import ClientDiedError
from runbook.load.outcome import Outcome
from runbook.load.preflight import PreflightFailed
from runbook.load.replay import finding_of, replay
from runbook.load.run import run_validation
from runbook.load.verdict import evidence

if TYPE_CHECKING:
    import argparse
    from pathlib import Path
    from typing import TextIO

    from runbook.load.progress import Say
    from runbook.load.results import SessionsResult

__all__ = ["add_arguments", "run"]

_EXIT = {Outcome.PASS: 0, Outcome.FAIL: 1, Outcome.ERROR: 2, Outcome.INCONCLUSIVE: 3}


def run(args: argparse.Namespace) -> int:
    """Run as asked; returns the exit code."""
    try:
        if args.replay:
            return _replay(args.replay)
        asked = asked_of(args, os.environ)
    except (ValueError, OSError) as error:
        return _refuse(str(error), 2)
    say = teller(sys.stdout if args.jsonl else sys.stderr, jsonl=args.jsonl)
    try:
        result = asyncio.run(run_validation(asked, say))
    except PreflightFailed as refused:
        return _refuse(str(refused), refused.exit_code)
    except OSError as error:
        return _refuse(f"--streams: {error}", 2)
    except ClientDiedError as error:
        return _refuse(str(error), 3)
    except KeyboardInterrupt:
        return _refuse("interrupted, nothing is concluded", 3)
    _show(result, jsonl=args.jsonl)
    return _EXIT[result.outcome]


def teller(out: TextIO, *, jsonl: bool) -> Say:
    """Progress as JSON lines, or as lines of text, in a log one a change; flushed one by one."""

    def say(text: str, /, **fields: Any) -> None:
        if not (jsonl or out.isatty() or fields.get("changed", True)):
            return
        line = json.dumps({"event": "progress", "text": text, "fields": fields}) if jsonl else text
        _write(out, line)

    return say


def result_text(result: SessionsResult) -> list[str]:
    """The original's two lines, then every finding with its numbers."""
    found = [f"{finding.outcome}: {finding.check}: {finding.message}" for finding in result.findings]
    kept = [f"raw streams: {result.streams}"] if result.streams else []
    return [*result.lines, *found, *kept, f"outcome: {result.outcome}"]


def _show(result: SessionsResult, *, jsonl: bool) -> None:
    lines = [json.dumps({"event": "result", "result": result.to_json()})] if jsonl else result_text(result)
    _write(sys.stdout, *lines)


def _replay(path: Path) -> int:
    """The kept sessions by today's rules, one a line, and what they come to."""
    _, records = replay(path)
    found = finding_of(records)
    _write(sys.stdout, *(json.dumps(evidence(record)) for record in records))
    _write(sys.stdout, f"{found.outcome}: {found.message}")
    return _EXIT[found.outcome]


def _refuse(message: str, code: int) -> int:
    _write(sys.stderr, message)
    return code


def _write(out: TextIO, *lines: str) -> None:
    out.writelines(f"{line}\n" for line in lines)
    out.flush()
