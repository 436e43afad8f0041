"""runbook's own Invoke program: Invoke exits 1 on usage errors and Ctrl-C, which here mean 2 and 130."""

from __future__ import annotations

import contextlib
import errno
import gc
import importlib.util
import os
import re
import sys
from itertools import pairwise
from pathlib import Path
from typing import IO, TYPE_CHECKING

from runbook import __version__, lean, shipped, streams


def _safe_load(stream: IO[str]) -> object:
    """An invoke.yaml, if there is one; raises ValueError where it is none."""
    from invoke.vendor import yaml

    try:
        found = yaml.safe_load(stream)  # type: ignore[no-untyped-call]
    except yaml.YAMLError as error:
        raise ValueError(str(error)) from error
    if not isinstance(found, dict | None):
        raise ValueError(f"{stream.name}: should be a mapping, found a {type(found).__name__}")
    return found


# Half of its import is asyncio, for a mock that tests may use, and a YAML that nearly nobody configures it by.
with lean.without("unittest.mock", "Mock"), lean.without("invoke.vendor.yaml", safe_load=_safe_load):
    from invoke import Collection, Exit, ParseError, Program
    from invoke.parser import Parser
    from invoke.parser.context import ParserContext

if TYPE_CHECKING:
    from collections.abc import Container, Iterator, Sequence
    from types import ModuleType, TracebackType

USAGE = 2
DEFECT = 70
INTERRUPTED = 130
UNWRITTEN = 141  # 128 + SIGPIPE, as a shell shows a command whose reader left
# Options that name files of the caller's: those we read, if they are there, and those we write.
READ = frozenset(("file", "replay", "allowed_signers", "against", "tokenizer"))
WRITTEN = frozenset(("output", "output_file", "streams"))
OF_A_RECORD = frozenset(("audit.show", "audit.export", "report"))
_ID = re.compile(r"\d{1,8}(T\d{0,6}(-[0-9a-f]{0,4})?)?")  # or its beginning


class RunbookProgram(Program):
    @contextlib.contextmanager
    def _usage_errors(self) -> Iterator[None]:
        """Turn a command line that makes no sense into exit 2; an int option given a word raises ValueError in Invoke."""
        try:
            yield
        except (ParseError, ValueError) as error:
            said = _in_our_words(str(error))
            raise self._refusal(self._explained(said, error)) from error

    def _explained(self, said: str, error: Exception) -> str:
        """With what the command line was probably meant to be, or where that can be read."""
        from runbook import misread

        context = error.context if isinstance(error, ParseError) else None
        tasks = self.collection.task_names if hasattr(self, "collection") else {}
        task, options = (context.name, list(context.flags)) if context else (None, [])
        if meant := misread.hint(said, task, options, tasks):
            return f"{said.rstrip('!')}; {meant}"
        command = shipped.command()
        return f"{said} (see `{command} --list`, `{command} TASK --help`)"

    def _refusal(self, why: str) -> Exit:
        """Exit 2 with its reason, as the one document where --json asks for one."""
        if "--json" not in self.argv:
            return Exit(why, code=USAGE)
        from runbook import app, errors
        from runbook.request import Request

        return Exit(code=app.refuse(Request(self.argv[1], json=True), errors.UsageError(why)))

    def create_config(self) -> None:
        self.argv: list[str] = []
        with self._usage_errors():
            super().create_config()

    def update_config(self, merge: bool = True) -> None:
        with self._usage_errors():
            super().update_config(merge)

    def load_collection(self) -> None:
        """runbook's own tasks, whoever's tasks.py lies in the directory; another's only where -c or -r ask for it."""
        if self.args["search-root"].value or self.args.collection.value:
            self._load_anothers()
        else:
            self._load_own()

    def _load_own(self) -> None:
        _require_a_directory()
        home = str(shipped.path(""))
        # A project's invoke.py is run. In a checkout it is ours; elsewhere anybody's who can write to the directory.
        if not shipped.is_installed():
            self.config.set_project_location(home)
            self.config.load_project()
        dashes = self.config.tasks.auto_dash_names
        self.collection = Collection.from_module(own_tasks(), loaded_from=home, auto_dash_names=dashes)

    def _load_anothers(self) -> None:
        try:
            super().load_collection()
        except Exit as error:
            raise self._refusal(str(error)) from None

    def parse_core(self, argv: list[str] | None) -> None:
        with self._usage_errors():
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

    def _valued(self) -> frozenset[str]:
        """Of a task that may have an id behind it, and of Invoke, the options whose value is the word behind them."""
        tasks = OF_A_RECORD.intersection(self.core.unparsed[:1], self.collection.task_names)
        contexts = [ParserContext(args=self.collection[task].get_arguments()) for task in tasks]
        flags = [flag for context in (*contexts, self.initial_context) for flag in context.flags.items()]
        return frozenset(flag for flag, argument in flags if argument.takes_value)

    def parse_tasks(self) -> None:
        self.core.unparsed[:] = spelled_out(self.core.unparsed, self._valued())
        with self._usage_errors():
            super().parse_tasks()
        if len(self.tasks) > 1:
            raise self._refusal(
                f"one task at a time, found {', '.join(str(task.name) for task in self.tasks)}"
            )
        for context in self.tasks:
            for flag in valueless(context, self.argv):
                raise self._refusal(f"{flag} needs a value and was given none")
            locate(context, Path(os.environ.pop("RUNBOOK_CALLED_FROM", "") or "."))

    def parse_cleanup(self) -> None:
        """Invoke's --list and --help of what there is not exit 0 or 1."""
        try:
            with self._usage_errors():
                super().parse_cleanup()
        except Exit as ended:
            raise self._refusal(str(ended)) if ended.message else ended from None

    def print_version(self) -> None:
        """Ours, under the name of what is installed, whatever it was called by."""
        print(f"runbook {self.version}")  # noqa: T201

    def no_tasks_given(self) -> None:
        """A bare command: what there is to do says more than Invoke's own options."""
        self.list_tasks()
        raise Exit

    def run(self, argv: list[str] | None = None, exit: bool = True) -> None:
        """Invoke makes a 1 of Ctrl-C, be it at work or before."""
        try:
            super().run(argv, exit)
        except SystemExit as ended:
            if isinstance(ended.__context__, KeyboardInterrupt):
                sys.stderr.write("interrupted\n")
                raise SystemExit(INTERRUPTED) from None
            raise


def _require_a_directory() -> None:
    """Host files are looked for where we stand; a shell may stand in a directory that was removed."""
    try:
        Path.cwd()
    except FileNotFoundError:
        why = "the directory you are in was removed; change to one that is there"
        raise Exit(f"{name()}: {why}", code=USAGE) from None


def own_tasks() -> ModuleType:
    """The tasks.py that came with this runbook."""
    spec = importlib.util.spec_from_file_location("tasks", shipped.path("tasks.py"))
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _in_our_words(said: str) -> str:
    """Two of Invoke's messages that show its insides."""
    said = re.sub(
        r"^Flag <Argument: ([\w-]+).*> needed value.*", r"--\1 needs a value and was given none", said
    )
    return said.replace("invalid literal for int() with base 10:", "a whole number is wanted, found")


def spelled_out(words: Sequence[str], valued: Container[str] = ()) -> list[str]:
    """A command line with its options in full: `-v`, and the id that tasks of a record may have without its `--id`.

    Right behind the task any word is an id, further on what looks like one; `valued` are options whose value is the word
    behind them. Automatic short flags would give a letter to every option of every task, and Invoke knows no positional
    argument that may be left out.
    """
    full = ["--verbose" if word == "-v" else word for word in words]
    if full[:1] and full[0] in OF_A_RECORD and (at := _bare_id(full, valued)) is not None:
        full[at] = f"--id={full[at]}"
    return full


def _bare_id(words: Sequence[str], valued: Container[str]) -> int | None:
    """Where the first id without an option stands; None where there is none."""
    for at, (before, word) in enumerate(pairwise(words), 1):
        looks_like_one = not word.startswith("-") if at == 1 else _ID.fullmatch(word)
        if looks_like_one and before not in valued:
            return at
    return None


def valueless(context: ParserContext, argv: Sequence[str]) -> Iterator[str]:
    """Flags given nothing, as by `--host $UNSET --yes` or `--to "$UNSET"`: that never means the default.

    Of flags that take several values Invoke drops those that stand without one.
    """
    for flag, argument in context.flags.items():
        stands = sum(word == flag or word.startswith(f"{flag}=") for word in argv)
        several = argument.kind is list
        given = argument.value if several else [argument.raw_value]
        if "" in given or (several and stands > len(given)):
            yield flag


def locate(context: ParserContext, caller: Path) -> None:
    """Let relative paths mean what they meant where `./invoke` was called: it runs us in the checkout."""
    for argument in context.args.values():
        name = argument.name.replace("-", "_")
        if not argument.value or name not in READ | WRITTEN or caller.resolve() == Path.cwd():
            continue
        path = caller / argument.value
        if name in WRITTEN or path.exists():
            argument.set_value(str(path), cast=False)


def name() -> str:
    """What our own messages begin with."""
    return shipped.command().removeprefix("./")


def main() -> None:
    """The entry point of `./invoke` and of the installed `runbook` command."""
    sys.excepthook = _end_as_defect
    out = streams.replace()
    code: str | int | None = 0
    try:
        RunbookProgram(name=name(), binary=name(), version=__version__).run()
    except SystemExit as ended:
        code = ended.code
    sys.stdout.flush()
    gc.freeze()  # nothing is left to be found: the interpreter's last search would only take its time
    sys.exit(code or _unwritten(out.lost))


def _unwritten(lost: OSError | None) -> int:
    """The exit code of a run that was well but could not say so. A reader that left need not be told."""
    if lost is None:
        return 0
    if lost.errno != errno.EPIPE:
        sys.stderr.write(f"{name()}: not all of the output could be written: {lost.strerror}\n")
    return UNWRITTEN


def _end_as_defect(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    """What nobody caught is a defect of ours: 70, since Python's own 1 would be read as a verdict."""
    sys.__excepthook__(kind, error, trace)
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(DEFECT)


if __name__ == "__main__":
    main()
