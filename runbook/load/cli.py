"""`python -m runbook.load repro`: the corruption validation with the original script's option names."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from typing import TYPE_CHECKING

from runbook.load.arguments import add_arguments, asked_of
from runbook.load.ending import exit_code
from runbook.load.refusing import BadArgumentsError
from runbook.load.replay import finding_of, replay
from runbook.load.run import run_validation
from runbook.load.saying import event, teller, write
from runbook.load.streams import NoStreamFileError
from runbook.load.verdict import evidence

if TYPE_CHECKING:
    import argparse
    from pathlib import Path

    from runbook.load.outcome import Outcome
    from runbook.load.results import SessionsResult

__all__ = ["add_arguments", "run"]


def run(args: argparse.Namespace) -> int:
    """Run as asked; returns the exit code."""
    return exit_code(lambda: _replay(args.replay) if args.replay else _repro(args), BadArgumentsError)


def _repro(args: argparse.Namespace) -> Outcome:
    asked = asked_of(args, os.environ)
    say = teller(sys.stdout if args.jsonl else sys.stderr, jsonl=args.jsonl)
    try:
        result = asyncio.run(run_validation(asked, say))
    except OSError as error:
        raise BadArgumentsError(f"--streams: {error}") from error
    told = [event("result", result=result.to_json())] if args.jsonl else result_text(result)
    write(sys.stdout, told)
    return result.outcome


def result_text(result: SessionsResult) -> list[str]:
    """The original's two lines, then every finding with its numbers."""
    found = [f"{finding.outcome}: {finding.check}: {finding.message}" for finding in result.findings]
    kept = [f"raw streams: {result.streams}"] if result.streams else []
    return [*result.lines, *found, *kept, f"outcome: {result.outcome}"]


def _replay(path: Path) -> Outcome:
    """The kept sessions by today's rules, one a line, and what they come to."""
    try:
        _, records = replay(path)
    except (NoStreamFileError, OSError) as error:
        raise BadArgumentsError(str(error)) from error
    found = finding_of(records)
    write(sys.stdout, [*(json.dumps(evidence(one)) for one in records), f"{found.outcome}: {found.message}"])
    return found.outcome
