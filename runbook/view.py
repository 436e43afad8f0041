"""Where a rollout is shown: a live terminal, plain lines, or nowhere; and how a person is asked."""

from __future__ import annotations

import getpass
import os
import select
import shutil
import sys
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from runbook import charset, interrupt
from runbook.text import clean, span
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

    def ask(self, question: str, *, within_s: float | None = None) -> bool:
        """A yes-or-no question. Without a person the answer is no, and so is Ctrl-C; where nothing is shown nobody is asked.

        With `within_s` so is silence, of so many seconds, which is said: a host's lock may wait for the answer.
        """
        if self.silent or not self.interactive:
            return False
        self._stop_drawing()
        try:
            with interrupt.at_once():
                prompt = f"{clean(question)} [y/N] "
                answer = input(prompt) if within_s is None else self._typed(prompt, within_s)
                return answer.strip().lower() in ("y", "yes")
        except (EOFError, KeyboardInterrupt):
            self.say("")
            return False

    def _typed(self, prompt: str, within_s: float) -> str:
        """The line that is typed; empty, which is said, where none is in time."""
        print(prompt, end="", file=self.stream, flush=True)
        if select.select([sys.stdin], [], [], within_s)[0]:
            return sys.stdin.readline()
        self.say(f"\nno answer within {span(within_s)}: that counts as no")
        return ""

    def secret(self, prompt: str) -> str:
        """A pass phrase or password, not echoed."""
        self._stop_drawing()
        with interrupt.at_once():
            return getpass.getpass(clean(prompt))

    def _stop_drawing(self) -> None:
        """A question is not drawn over: the step in progress is shown again when it ends."""
        for live in self._drawing:
            live.hold()
