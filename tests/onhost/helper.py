"""The helper as a process of its own, spoken to over pipes: what SSH carries, without SSH."""

from __future__ import annotations

import contextlib
import itertools
import shlex
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from runbook.bundle import helper_payload
from runbook.onhost import frames
from runbook.ssh import boot

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

NONCE = "abc"


@dataclass
class Helper:
    """A started helper. `process` is the warden, `pid` the helper below it."""

    process: subprocess.Popen[bytes]
    answers: Iterator[Any]
    pid: int = 0
    numbers: Iterator[int] = field(default_factory=lambda: itertools.count(1))

    def send(self, name: str, **args: Any) -> int:
        assert self.process.stdin is not None
        number = next(self.numbers)
        self.process.stdin.write(frames.encode({"id": number, "call": name, "args": args}))
        self.process.stdin.flush()
        return number

    def call(self, name: str, **args: Any) -> Any:
        number = self.send(name, **args)
        answer = next(self.answers)
        assert answer["id"] == number
        return answer.get("ok", answer.get("error"))


@contextlib.contextmanager
def started(
    mode: str, state: Path, *, python: str = sys.executable, silence_s: float = 45.0
) -> Iterator[Helper]:
    """A helper in a mode; its warden is killed at the end if it is still there."""
    argv = [python, *shlex.split(boot.boot_command("python3", NONCE))[1:]]
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        options = frames.encode({"mode": mode, "state": str(state), "silence_s": silence_s})
        process.stdin.write(boot.payload_frame(helper_payload()) + options)
        process.stdin.flush()
        rest = _greeting(process)
        helper = Helper(process, _answers(rest, process))
        try:
            helper.pid = next(helper.answers)["ok"]["pid"]
            yield helper
        finally:
            with contextlib.suppress(BrokenPipeError):
                process.stdin.close()
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(timeout=20)
            process.kill()


def _greeting(process: subprocess.Popen[bytes]) -> bytes:
    assert process.stdout is not None
    got = b""
    while (greeting := boot.find_greeting(got, NONCE)) is None:
        byte = process.stdout.read(1)
        assert byte, "the helper ended before its greeting"
        got += byte
    return greeting.rest


def _answers(rest: bytes, process: subprocess.Popen[bytes]) -> Iterator[Any]:
    decoder = frames.Decoder()
    yield from decoder.feed(rest)
    assert process.stdout is not None
    yield from frames.read(process.stdout)


def alive(pid: int) -> bool:
    """Is a process there and no zombie?"""
    try:
        state = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


def eventually(holds: Callable[[], bool], within_s: float = 20.0) -> bool:
    """Does it hold before the time is up?"""
    deadline = time.monotonic() + within_s
    while time.monotonic() < deadline:
        if holds():
            return True
        time.sleep(0.02)
    return False
