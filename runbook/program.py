"""runbook's own Invoke program: Invoke exits 1 on usage errors and Ctrl-C, which here mean 2 and 130."""

from __future__ import annotations

import contextlib
import os
import sys
from typing import TYPE_CHECKING

from invoke import Exit, ParseError, Program
from invoke.parser import Parser
from invoke.parser.context import ParserContext

from runbook import __version__

if TYPE_CHECKING:
    from collections.abc import Iterator

USAGE = 2
INTERRUPTED = 130
BROKEN_PIPE = 141  # 128 + SIGPIPE, as a shell would show it


@contextlib.contextmanager
def _usage_errors() -> Iterator[None]:
    """Turn a command line that makes no sense into exit 2; an int option given a word raises ValueError in Invoke."""
    try:
        yield
    except (ParseError, ValueError) as error:
        raise Exit(f"{error} (see `invoke --list`, `invoke TASK --help`)", code=USAGE) from error


class RunbookProgram(Program):
    def parse_core(self, argv: list[str] | None) -> None:
        with _usage_errors():
            super().parse_core(argv)

    def _make_parser(self) -> Parser:
        """A parser of the tasks the command line may name: Invoke copies every context deeply, which is 30 ms for all."""
        if "--complete" in self.argv:
            return super()._make_parser()
        contexts = [
            ParserContext(name=name, aliases=aliases, args=self.collection[name].get_arguments())
            for name, aliases in self.collection.task_names.items()
            if {name, *aliases} & set(self.argv)
        ]
        return Parser(contexts=contexts, initial=self.initial_context)

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
    try:
        RunbookProgram(name="invoke", binary="invoke", version=__version__).run()
        sys.stdout.flush()
    except BrokenPipeError:
        # The reader left (`| head`): nobody is there to be told, and Python must not tell it again at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(BROKEN_PIPE)


if __name__ == "__main__":
    main()
