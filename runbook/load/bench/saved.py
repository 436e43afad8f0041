"""Results in files: the document, and every request of a run."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from runbook.load.bench.result import BenchResult, ResultError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from runbook.load.bench.slotrun import SlotRun


def load_result(path: Path) -> BenchResult:
    """A saved result: its document, or the first line of an --output-file. Raises ResultError."""
    try:
        text = path.read_text("utf-8")
        document = json.loads(
            text if text.count("\n") <= 1 or text.startswith("{\n") else text.split("\n", 1)[0]
        )
    except (OSError, ValueError, RecursionError) as error:
        raise ResultError(f"--against {path}: {error}") from error
    return BenchResult.from_json(document if isinstance(document, dict) else {})


def save(path: Path, result: BenchResult, runs: Iterable[SlotRun]) -> None:
    """One line for the result, then one a request."""
    with path.open("w", encoding="utf-8") as out:
        out.write(json.dumps(result.to_json()) + "\n")
        out.writelines(json.dumps(request) + "\n" for request in requests(runs))


def requests(runs: Iterable[SlotRun]) -> Iterator[dict[str, Any]]:
    """Every request of a run as a document, with where in the sweep it stood."""
    for one in runs:
        place = {"concurrency": one.slot.concurrency, "repeat": one.slot.repeat}
        yield from ({**place, **record.to_json()} for record in one.records)
