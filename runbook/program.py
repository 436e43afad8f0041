"""runbook's own Invoke program: Invoke exits 1 on usage errors and Ctrl-C, which here mean 2 and 130."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from invoke import Exit, ParseError, Program

from runbook import __version__

if TYPE_CHECKING:
    from collections.abc import Iterator

USAGE = 2
INTERRUPTED = 130


@contextlib.contextmanager
def _usage_errors() -> Iterator[None]:
    """Turn a command line that makes no sense into exit 2; an int option given a word raises ValueError in Invoke."""
    try:
        yield
    except (ParseError, ValueError) as error:
        raise Exit(f"{error} (see `invoke --list`, `invoke TASK --help`)", code=USAGE) from error


class RunbookProgram(Program):  # type: ignore[misc]  # invoke is untyped
    def parse_core(self, argv: list[str] | None) -> None:
        with _usage_errors():
            super().parse_core(argv)

    def parse_tasks(self) -> None:
        with _usage_errors():
            super().parse_tasks()

    def execute(self) -> None:
        try:
            super().execute()
        except KeyboardInterrupt:
            raise Exit(code=INTERRUPTED) from None


def main() -> None:
    """The entry point of `./invoke` and of the installed `runbook` command."""
    RunbookProgram(name="invoke", binary="invoke", version=__version__).run()


if __name__ == "__main__":
    main()
