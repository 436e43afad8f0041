"""Programs of this machine, run for their effect."""

from __future__ import annotations

import contextlib
import os
import shlex
import signal
import subprocess
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

_SHOWN = 2000
_PIPE = subprocess.PIPE


class ProgramFailed(Exception):
    """A program that did not exit 0; `said` is the end of its stderr, else of its stdout."""

    def __init__(self, argv: Sequence[str], code: int, said: str) -> None:
        self.code, self.said = code, said
        super().__init__(f"{shlex.join(argv)[:_SHOWN]} exited {code}: {said}")


def run(argv: Sequence[str], *, timeout_s: float = 30.0, stdin: bytes = b"") -> str:
    """A program's output as text; raises ProgramFailed."""
    return output(argv, timeout_s=timeout_s, stdin=stdin).decode("utf-8", "replace")


def output(argv: Sequence[str], *, timeout_s: float = 30.0, stdin: bytes = b"") -> bytes:
    """A program's very output; raises ProgramFailed."""
    with subprocess.Popen(argv, stdin=_PIPE, stdout=_PIPE, stderr=_PIPE, start_new_session=True) as program:
        try:
            out, err = program.communicate(stdin, timeout=timeout_s)
        except BaseException:  # Ctrl-C, or its time is up: what it started goes with it
            with contextlib.suppress(ProcessLookupError):
                os.killpg(program.pid, signal.SIGKILL)
            raise
    if program.returncode:
        said = (err or out).decode("utf-8", "replace").strip()[-_SHOWN:]
        raise ProgramFailed(argv, program.returncode, said)
    return out


def attempt(argv: Sequence[str], *, timeout_s: float = 30.0) -> bool:
    """Did the program exit 0? For what may be gone, or there, already."""
    return subprocess.run(argv, capture_output=True, timeout=timeout_s, check=False).returncode == 0
