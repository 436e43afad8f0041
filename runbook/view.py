"""Where a rollout is shown: a live terminal, plain lines, or nowhere; and how a person is asked."""

from __future__ import annotations

import getpass
import os
import shutil
import sys
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from runbook import charset, interrupt
from runbook.text import clean
from runbook.verdict import Outcome

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any, TextIO

    from runbook.console import Live
    from runbook.events import Listener


@dataclass(frozen=True, slots=True)
class View:
    """A stream and what it can show. `silent`: one JSON document goes there in the end, nothing else."""

    stream: TextIO
    silent: bool = False
    verbose: bool = False
    environ: Mapping[str, str] = field(default_factory=lambda: os.environ)
    _drawing: list[Live] = field(default_factory=list)

    def __post_init__(self) -> None:
        charset.settle(self.stream, self.environ)

    @property
    def terminal(self) -> bool:
        return self.stream.isatty()

    @property
    def drawable(self) -> bool:
        """A terminal on which a line can be drawn over."""
        return self.terminal and self.environ.get("TERM", "").lower() not in ("dumb", "unknown", "")

    @property
    def width(self) -> int | None:
        """Columns of the terminal; None where there is none."""
        return shutil.get_terminal_size().columns if self.terminal else None

    @property
    def interactive(self) -> bool:
        """A person can answer: both ends are a terminal. Python may start without any stdin at all."""
        return self.terminal and sys.stdin is not None and sys.stdin.isatty()

    def listeners(self) -> list[Listener]:
        if self.silent:
            return []
        if not self.drawable:
            from runbook.plain import Plain

            return [Plain(self.stream, verbose=self.verbose)]
        from runbook import console  # Rich is only paid for where there is a terminal

        self._drawing[:] = [console.Live(console.open_console(self.stream), verbose=self.verbose)]
        return [*self._drawing]

    def say(self, text: str) -> None:
        if not self.silent:
            print(clean(text), file=self.stream, flush=True)

    def summary(self, document: Mapping[str, Any]) -> None:
        """The last lines of a rollout: verdict, what was not well, release, audit id, and how to go back."""
        if self.silent:
            return
        from runbook import ending

        texts = ending.lines(document)
        if not self.drawable:
            self.say("\n".join(texts))
            return
        from runbook import console

        console.closing(console.open_console(self.stream), Outcome(document["outcome"]), texts)

    def ask(self, question: str) -> bool:
        """A yes-or-no question. Without a person the answer is no, and so is Ctrl-C; where nothing is shown nobody is asked."""
        if self.silent or not self.interactive:
            return False
        self._stop_drawing()
        try:
            with interrupt.at_once():
                return input(f"{clean(question)} [y/N] ").strip().lower() in ("y", "yes")
        except (EOFError, KeyboardInterrupt):
            self.say("")
            return False

    def secret(self, prompt: str) -> str:
        """A pass phrase or password, not echoed."""
        self._stop_drawing()
        with interrupt.at_once():
            return getpass.getpass(clean(prompt))

    def _stop_drawing(self) -> None:
        """A question is not drawn over: the step in progress is shown again when it ends."""
        for live in self._drawing:
            live.hold()
