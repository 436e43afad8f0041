"""How long an edit of a serve script takes: 200 kB with 500 exports, and ten times that.

    python -m benchmarks.edit_speed [repeats]

Prints wall time (median and best) and processor time (median) in milliseconds, after import, and what of it is mvdan/sh's
parse and reading its JSON; once of plain lines, which the parser is spared, and once with an expansion every fourth line,
which it must read. On a busy machine believe the processor time.
"""

from __future__ import annotations

import resource
import statistics
import sys
import time
from typing import TYPE_CHECKING

from runbook.edits.serve_script import edit, read
from runbook.edits.shell.parser import encode, statements
from runbook.edits.shell.script import parse

if TYPE_CHECKING:
    from collections.abc import Callable


def script(exports: int, size: int, *, mixed: bool = False) -> str:
    """A script of about `size` bytes with so many exports, a comment above each; `mixed`: every fourth one expands."""
    comment = "x" * (size // exports - 36)
    values = [f"${{OTHER:-{n}}}" if mixed and n % 4 == 3 else str(n) for n in range(exports)]
    lines = [f"# {comment}\nexport SGLANG_OPTION_{n:05}={value}" for n, value in enumerate(values)]
    return "\n".join(["#!/bin/bash", "set -euo pipefail", *lines, "exec python -m sglang.launch_server", ""])


def measured(call: Callable[[], object], repeats: int) -> tuple[float, float, float]:
    """Median and best wall time of the repeats, and the median of processor time, in milliseconds."""
    walls, processors = [], []
    for _ in range(repeats):
        parse.cache_clear()
        begin, before = time.perf_counter(), _processor_s()
        call()
        walls.append((time.perf_counter() - begin) * 1000)
        processors.append((_processor_s() - before) * 1000)
    return statistics.median(walls), min(walls), statistics.median(processors)


def _processor_s() -> float:
    """Processor time of this process and of the parsers it waited for."""
    used = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(usage.ru_utime + usage.ru_stime for usage in used)


def calls(text: str) -> dict[str, Callable[[], object]]:
    """What is measured on one script."""
    return {
        "set an existing name": lambda: edit(text, set={"SGLANG_OPTION_00250": "x"}),
        "set and unset": lambda: edit(text, set={"NEW": "1"}, unset=["SGLANG_OPTION_00007"]),
        "nothing to change": lambda: edit(text, set={"SGLANG_OPTION_00250": "250"}),
        "read": lambda: read(text),
        "of it mvdan/sh and JSON": lambda: statements(encode(text)),
    }


def main(repeats: int) -> None:
    for exports, size, mixed in (
        (500, 200_000, False),
        (5000, 2_000_000, False),
        (500, 200_000, True),
        (5000, 2_000_000, True),
    ):
        text = script(exports, size, mixed=mixed)
        print(f"{len(text) / 1000:.0f} kB, {exports} exports{', every fourth expands' if mixed else ''}")
        for name, call in calls(text).items():
            median, best, processor = measured(call, repeats)
            print(
                f"  {name:<24} wall median {median:7.1f} ms, best {best:7.1f} ms   processor {processor:7.1f} ms"
            )


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 9)
