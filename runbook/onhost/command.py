"""Run a program of the host's own: argv, never a shell; C locale; bounded in time and output."""

from __future__ import annotations

import contextlib
import os
import selectors
import subprocess
import time

from runbook.onhost.calls import Refusal
from runbook.onhost.ran import ABSENT, LET_GO, Program, note

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import IO, Any

LIMIT_BYTES = 4 * 1024 * 1024
_LAST_LINES = 10
_LET_GO_S = 0.5


def run(argv: Sequence[str], *, timeout_s: float = 30.0, expect: Sequence[int] = (0,)) -> str:
    """Standard output of a program that ended in one of the expected exit codes.

    Refusal `missing` where there is no such program, `failed` with command, exit code and last lines otherwise.
    """
    return Running(argv).text(timeout_s=timeout_s, expect=expect)


def run_together(argvs: Iterable[Sequence[str]], *, timeout_s: float) -> list[str]:
    """Standard output of programs that run side by side, all within `timeout_s`; the refusal of the first that fails."""
    with contextlib.ExitStack() as stack:
        programs = [stack.enter_context(Running(argv)) for argv in argvs]
        return [program.text(timeout_s=timeout_s) for program in programs]


def hung(refusal: Refusal) -> bool:
    """Whether it says that a program gave no answer in time."""
    return refusal.kind == "failed" and refusal.data.get("exit", 0) is None


class Running:
    """A program on its way: what else there is to ask can be asked meanwhile. Every program of ours is one, and is noted."""

    def __init__(self, argv: Sequence[str]) -> None:
        self._argv = list(argv)
        self._noted = note(Program(self._argv))
        pipe, env = subprocess.PIPE, _environment()
        try:
            self._process: subprocess.Popen[bytes] | None = subprocess.Popen(
                self._argv, stdin=subprocess.DEVNULL, stdout=pipe, stderr=pipe, env=env
            )
        except FileNotFoundError:
            self._process = None
            self._noted.ended(None, ABSENT)
        except OSError as error:
            self._noted.ended(None, error.strerror)
            raise

    def text(self, *, timeout_s: float = 30.0, expect: Sequence[int] = (0,)) -> str:
        """Its standard output once it has ended, at most `timeout_s` after its start; refusals as of `run`.

        So what was started together is waited for together, under one deadline.
        """
        if self._process is None:
            raise Refusal("missing", f"no program {self._argv[0]} on this host", {"command": self._argv})
        process = self._process
        try:
            out, err = _ends(process, self._noted.began + timeout_s)
        except subprocess.TimeoutExpired:
            why = f"no answer within {timeout_s:.0f} s"
            self._noted.ended(None, why)
            _let_go(process)
            raise _failed(self._argv, None, why) from None
        self._noted.ended(process.returncode)
        if process.returncode not in expect:
            raise _failed(self._argv, process.returncode, _text(err or out))
        return _text(out)

    def __enter__(self) -> Running:
        return self

    def __exit__(self, *_: object) -> None:
        """End it where nobody wants to hear it any more."""
        if self._process is not None and self._noted.is_open:
            _let_go(self._process)
            self._noted.ended(self._process.returncode, LET_GO)


def _ends(process: subprocess.Popen[bytes], until: float) -> tuple[bytes, bytes]:
    """The last LIMIT_BYTES of what a program says on both its streams, once it has ended; TimeoutExpired after `until`.

    A unit may log gigabytes, of which the end is wanted: the rest is let go of as it comes.
    """
    kept: dict[Any, bytearray] = {process.stdout: bytearray(), process.stderr: bytearray()}
    with selectors.DefaultSelector() as selector:
        for stream in kept:
            selector.register(stream, selectors.EVENT_READ)
        while selector.get_map():
            ready = selector.select(max(0.0, until - time.monotonic()))
            if not ready:
                raise subprocess.TimeoutExpired(process.args, 0.0)
            for key, _ in ready:
                if not _more(key.fd, kept[key.fileobj]):
                    selector.unregister(key.fileobj)
    process.wait(max(0.0, until - time.monotonic()))
    out, err = (_closed(stream, tail) for stream, tail in kept.items())
    return out, err


def _more(descriptor: int, tail: bytearray) -> bool:
    """Take in what is there, at most the last LIMIT_BYTES of it and what came before; whether more may come."""
    chunk = os.read(descriptor, 65536)
    tail += chunk
    if len(tail) > 2 * LIMIT_BYTES:
        del tail[:-LIMIT_BYTES]
    return bool(chunk)


def _closed(stream: IO[bytes], tail: bytearray) -> bytes:
    stream.close()
    return bytes(tail[-LIMIT_BYTES:])


def _let_go(process: subprocess.Popen[bytes]) -> None:
    """Kill a program and wait for its end, but no longer than a moment: one that hangs in a driver does not die."""
    process.kill()
    for stream in (process.stdout, process.stderr):
        if stream is not None:
            stream.close()
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(timeout=_LET_GO_S)


def _environment() -> dict[str, str]:
    return {**os.environ, "LC_ALL": "C", "SYSTEMD_COLORS": "0", "SYSTEMD_PAGER": "", "SYSTEMD_LESS": ""}


def _text(content: bytes) -> str:
    return content.decode("utf-8", "replace")


def _failed(argv: Sequence[str], code: int | None, output: str) -> Refusal:
    lines = output.strip().splitlines()[-_LAST_LINES:]
    ended = "did not end" if code is None else f"exited {code}"
    detail: dict[str, Any] = {"command": list(argv), "exit": code, "lines": lines}
    return Refusal("failed", "\n".join([f"`{' '.join(argv)}` {ended}", *lines]), detail)
