"""The controller as an operator has it: a directory with hosts/, and `invoke` run in it as a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

_PROJECT = Path(__file__).parents[2]


@dataclass(frozen=True, slots=True)
class Answer:
    """How one command ended. `document` is its `--json`."""

    code: int
    document: dict[str, Any]
    stderr: str

    @property
    def steps(self) -> list[str]:
        return [step["name"] for step in self.document["steps"]]


@dataclass(frozen=True, slots=True)
class Controller:
    """A working directory of an operator. `environ` comes over that of the tests."""

    directory: Path
    environ: Mapping[str, str]

    def write_host(self, name: str, text: str) -> None:
        path = self.directory / "hosts" / f"{name}.yml"
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)

    def start(self, *words: str) -> subprocess.Popen[bytes]:
        """Start a task; its stdin is closed, and no terminal is there."""
        return subprocess.Popen(
            [sys.executable, "-m", "runbook.program", "--search-root", str(_PROJECT), *words],
            cwd=self.directory,
            env={**os.environ, "PYTHONPATH": str(_PROJECT), "RUNBOOK_HOST": "", **self.environ},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )

    def run(self, *words: str, timeout_s: float = 120.0) -> Answer:
        """Run a task with --json to its end."""
        with self.start(*words, "--json") as process:
            out, err = process.communicate(timeout=timeout_s)
        return Answer(process.returncode, json.loads(out or b"{}"), err.decode("utf-8", "replace"))
