"""The throughput bench: `runbook.load.bench.cli` runs it, `compare` sets two results against each other."""

from __future__ import annotations

from runbook.load.bench.comparison import Comparison, Row, compare
from runbook.load.bench.fingerprint import FingerprintMismatch
from runbook.load.bench.result import BenchResult, Level, ResultError
from runbook.load.bench.table import comparison_lines, result_lines

__all__ = [
    "BenchResult",
    "Comparison",
    "FingerprintMismatch",
    "Level",
    "ResultError",
    "Row",
    "compare",
    "comparison_lines",
    "result_lines",
]
