"""`python -m runbook.load bench`: a bench by itself, or compared with a saved one."""

from __future__ import annotations

import asyncio
import dataclasses
import os
import sys
from typing import TYPE_CHECKING

from runbook.load.bench.comparison import compare
from runbook.load.bench.fingerprint import FingerprintMismatch
from runbook.load.bench.options import add_arguments, settings_of
from runbook.load.bench.result import ResultError
from runbook.load.bench.saved import load_result, requests, save
from runbook.load.bench.sweep import run_bench
from runbook.load.bench.table import comparison_lines, result_lines
from runbook.load.ending import exit_code
from runbook.load.outcome import worst
from runbook.load.refusing import BadArgumentsError
from runbook.load.saying import event, teller, write

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator
    from pathlib import Path

    from runbook.load.bench.comparison import Comparison
    from runbook.load.bench.result import BenchResult
    from runbook.load.bench.sweep import Bench
    from runbook.load.outcome import Outcome

__all__ = ["add_arguments", "run"]


def run(args: argparse.Namespace) -> int:
    """Run as asked; returns the exit code."""
    return exit_code(lambda: _bench(args), BadArgumentsError, ResultError, FingerprintMismatch)


def _bench(args: argparse.Namespace) -> Outcome:
    settings = settings_of(args, os.environ)
    baseline = None if args.against is None else load_result(args.against)
    say = teller(sys.stdout if args.jsonl else sys.stderr, jsonl=args.jsonl)
    bench = asyncio.run(run_bench(settings, say))
    if args.output_file is not None:
        result = dataclasses.replace(bench.result, requests_file=str(args.output_file))
        bench = dataclasses.replace(bench, result=result)
    comparison = None
    if baseline is not None:
        comparison = compare(baseline, bench.result, max_regression=args.max_regression, accept=args.accept)
    write(sys.stdout, _events(args, bench, comparison) if args.jsonl else _lines(bench.result, comparison))
    _save(args.output_file, bench)
    return worst([bench.result.outcome, *([comparison.outcome] if comparison else [])])


def _events(args: argparse.Namespace, bench: Bench, comparison: Comparison | None) -> Iterator[str]:
    if args.tell_requests:
        yield from (event("request", request=one) for one in requests(bench.runs))
    compared = {"comparison": comparison.to_json()} if comparison else {}
    yield event("result", result={**bench.result.to_json(), **compared})


def _lines(result: BenchResult, comparison: Comparison | None) -> Iterator[str]:
    plain = "utf" not in (sys.stdout.encoding or "").lower()
    yield from result_lines(result, ascii_only=plain)
    if comparison:
        yield from comparison_lines(comparison, ascii_only=plain)


def _save(path: Path | None, bench: Bench) -> None:
    """After all was told: a disk that is full takes the file, and not the result."""
    try:
        if path is not None:
            save(path, bench.result, bench.runs)
    except OSError as error:
        raise BadArgumentsError(f"--output-file {path}: {error.strerror}") from error
