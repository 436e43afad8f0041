"""The command line as a person uses it, on a lab of its own."""

from __future__ import annotations

import fcntl
import json
import os
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
PATIENCE_S = 120.0


@dataclass(frozen=True, slots=True)
class Desk:
    """A directory with hosts/ and a lab beside it, as a checkout has."""

    directory: Path

    @property
    def scripts(self) -> dict[str, bytes]:
        found = sorted((self.directory / ".lab" / "host" / "root").glob("serve_dsv4_*.sh"))
        return {path.name: path.read_bytes() for path in found}

    @property
    def state(self) -> Path:
        return self.directory / ".lab" / "state" / "sglang-dsv4"

    def argv(self, *words: str) -> list[str]:
        return [sys.executable, "-m", "runbook.program", "--search-root", str(ROOT), *words]

    def start(self, *words: str) -> subprocess.Popen[str]:
        environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONUNBUFFERED": "1"}
        return subprocess.Popen(
            self.argv(*words), cwd=self.directory, env=environment, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        )  # fmt: skip

    def invoke(self, *words: str) -> tuple[int, str]:
        """Run to the end; exit code and everything printed."""
        with self.start(*words) as process:
            text, _ = process.communicate(timeout=PATIENCE_S)
        return process.returncode, text

    def document(self, *words: str) -> dict[str, Any]:
        """Run with --json; stdout must be one document and nothing else."""
        code, text = self.invoke(*words, "--json")
        document: dict[str, Any] = json.loads(text)
        assert document["exit_code"] == code
        return document

    def lock_is_free(self, within_s: float = 10.0) -> bool:
        """Whether the host's deploy lock can be taken; it is given back at once."""
        deadline = time.monotonic() + within_s
        while not (free := self._try_lock()) and time.monotonic() < deadline:
            time.sleep(0.1)
        return free

    def _try_lock(self) -> bool:
        path = self.state / "lock"
        if not path.exists():
            return True
        with path.open("r+b") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                return False
        return True


def reached(process: subprocess.Popen[str], words: str) -> bool:
    """Read the process's output up to the line that holds `words`; False where it ended without it."""
    assert process.stdout is not None
    return any(words in line for line in iter(process.stdout.readline, ""))
