"""`python -m runbook.load bench`: runs, prints, exits.

Exit 0 pass, 1 fail, 2 the command line or the endpoint's answer makes no sense, 3 inconclusive or nobody answers.
"""

from __future__ import annotations

import asyncio
import dataclasses
import json
import os
import sys
from typing import TYPE_CHECKING, Any

from runbook.load.bench.comparison import Comparison, compare
from runbook.load.bench.fingerprint import FingerprintMismatch
from runbook.load.bench.options import add_arguments, settings_of
from runbook.load.bench.result import ResultError
from runbook.load.bench.saved import load_result, requests, save
from runbook.load.bench.sweep import run_bench
from runbook.load.bench.table import comparison_lines, result_lines
from runbook.load.outcome import Outcome, worst
from runbook.load.preflight import PreflightFailed
from runbook.load.refusing import BadArgumentsError

if TYPE_CHECKING:
    import argparse
    from typing import TextIO

    from runbook.load.bench.sweep import Bench, Say

__all__ = ["add_arguments", "run"]

_EXIT = {Outcome.PASS: 0, Outcome.FAIL: 1, Outcome.ERROR: 2, Outcome.INCONCLUSIVE: 3}


def run(args: argparse.Namespace) -> int:
    """Run a bench as asked; returns the exit code."""
    try:
        settings = settings_of(args, os.environ)
        baseline = None if args.against is None else load_result(args.against)
        bench = asyncio.run(
            run_bench(settings, teller(sys.stdout if args.jsonl else sys.stderr, jsonl=args.jsonl))
        )
        comparison = None
        if baseline is not None:
            comparison = compare(
                baseline, bench.result, max_regression=args.max_regression, accept=args.accept
            )
    except (BadArgumentsError, ResultError, FingerprintMismatch) as error:
        return _refuse(str(error), 2)
    except PreflightFailed as refused:
        return _refuse(str(refused), refused.exit_code)
    except KeyboardInterrupt:
        return _refuse("interrupted, nothing is concluded", 3)
    return _report(args, bench, comparison)


def teller(out: TextIO, *, jsonl: bool) -> Say:
    """Progress as lines of text or as the contract's JSON lines, flushed one by one."""

    def say(text: str, /, **fields: Any) -> None:
        line = json.dumps({"event": "progress", "text": text, "fields": fields}) if jsonl else text
        out.write(f"{line}\n")
        out.flush()

    return say


def _report(args: argparse.Namespace, bench: Bench, comparison: Comparison | None) -> int:
    result = bench.result
    if args.output_file is not None:
        result = dataclasses.replace(result, requests_file=str(args.output_file))
        save(args.output_file, result, bench.runs)
    if args.jsonl:
        told = requests(bench.runs) if args.tell_requests else ()
        sys.stdout.writelines(json.dumps({"event": "request", "request": one}) + "\n" for one in told)
        document = {**result.to_json(), **({"comparison": comparison.to_json()} if comparison else {})}
        sys.stdout.write(json.dumps({"event": "result", "result": document}) + "\n")
    else:
        plain = not _unicode(sys.stdout)
        lines = result_lines(result, ascii_only=plain)
        lines += comparison_lines(comparison, ascii_only=plain) if comparison else []
        sys.stdout.write("\n".join(lines) + "\n")
    sys.stdout.flush()
    return _EXIT[worst([result.outcome, *([comparison.outcome] if comparison else [])])]


def _unicode(out: TextIO) -> bool:
    return "utf" in (out.encoding or "").lower()


def _refuse(message: str, code: int) -> int:
    sys.stderr.write(f"bench: {message}\n")
    return code
