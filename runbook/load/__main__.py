"""`python -m runbook.load repro …` and `python -m runbook.load bench …`."""

from __future__ import annotations

import argparse
import importlib
import os
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import TracebackType

DEFECT = 70
COMMANDS = {
    "repro": ("runbook.load.cli", "agent sessions with known right answers: does the server corrupt?"),
    "bench": ("runbook.load.bench.cli", "throughput and latency: how fast is it?"),
}


def main(argv: Sequence[str] | None = None) -> int:
    """Runs one command; its module is imported only then. Returns the exit code."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    parser = argparse.ArgumentParser(prog="python -m runbook.load", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for name, (module, summary) in COMMANDS.items():
        command = commands.add_parser(name, help=summary, description=summary)
        if name in arguments[:1]:
            importlib.import_module(module).add_arguments(command)
    args = parser.parse_args(arguments)
    return int(importlib.import_module(COMMANDS[args.command][0]).run(args))


def defect_exit(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    """An exception hook: the traceback, and an exit that no outcome has. Python's own would be 1, a fail."""
    sys.__excepthook__(kind, error, trace)
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(DEFECT)


if __name__ == "__main__":
    sys.excepthook = defect_exit
    sys.exit(main())
