"""Jobs: programs we start for the controller, each in a session of its own, none outliving us."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import threading
import time

from runbook.onhost import ran
from runbook.onhost.calls import Refusal, running

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import IO, Any

    from runbook.onhost.session import Session

_LINE_LIMIT = 1024 * 1024  # characters of one line; a result document is one line
_LINES_AT_ONCE = 2_000
_CHARACTERS_AT_ONCE = 4 * 1024 * 1024  # of twelve bytes each at worst, escaped in a frame of at most 64 MiB
# Beyond either the job waits for its reader.
_BACKLOG_LINES = 20_000
_BACKLOG_CHARACTERS = 16 * 1024 * 1024
_STDERR_LIMIT = 64 * 1024
_DRAIN_S = 2.0  # how long after its end a job's output may still come, held open by what it left behind


class Job:
    """One running program. Its output is read by threads of its own, so it never waits for a slow link."""

    def __init__(
        self, argv: Sequence[str], env: Mapping[str, str], cwd: str | None, stdin: str | None
    ) -> None:
        self._changed = threading.Condition()
        self._lines: list[str] = []
        self._characters = 0  # of those lines
        self._stderr = ""
        self._exit: int | None = None
        self._program, self._is_noted = ran.Program(list(argv)), False
        self._process = subprocess.Popen(
            list(argv),
            env={**os.environ, **env},
            cwd=cwd,
            stdin=subprocess.DEVNULL if stdin is None else subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        self.pid = self._process.pid
        self._readers = [
            self._thread(self._read_lines, self._process.stdout),
            self._thread(self._read_stderr, self._process.stderr),
        ]
        self._thread(self._wait)
        if stdin is not None:
            self._thread(self._feed, stdin)

    def poll(self, wait_s: float) -> dict[str, Any]:
        """New lines, new stderr, and the exit code once there is nothing more to come; waits for one of them."""
        with self._changed:
            self._changed.wait_for(
                lambda: self._lines or self._stderr or self._exit is not None, timeout=wait_s
            )
            lines = self._taken()
            stderr, self._stderr = self._stderr, ""
            ended = None if self._lines else self._exit
            self._changed.notify_all()
        return {"lines": lines, "stderr": stderr, "exit": ended}

    def _taken(self) -> list[str]:
        """The oldest lines, as many as one answer carries."""
        size = count = 0
        for line in self._lines[:_LINES_AT_ONCE]:
            size += len(line)
            if size > _CHARACTERS_AT_ONCE:
                break
            count += 1
        taken, self._lines = self._lines[:count], self._lines[count:]
        self._characters -= sum(map(len, taken))
        return taken

    def stop(self, grace_s: float) -> int | None:
        """SIGTERM to the job's group, SIGKILL after the grace; its exit code, negative for a signal."""
        self._signal(signal.SIGTERM)
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(grace_s)
        self._signal(signal.SIGKILL)
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(_DRAIN_S)
        self._ended(code := self._process.poll())
        return code

    def note(self) -> None:
        """Have the job told as a program that ran, once: with the first answer that tells its exit."""
        if not self._is_noted:
            self._is_noted = True
            ran.note(self._program)

    def _signal(self, number: int) -> None:
        # The group may outlive its leader: what the job left behind in it is signalled too.
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, number)

    def _thread(self, run: Any, *args: Any) -> threading.Thread:
        thread = threading.Thread(target=run, args=args, daemon=True)
        thread.start()
        return thread

    def _read_lines(self, stream: IO[bytes]) -> None:
        with stream:
            for line in iter(lambda: stream.readline(_LINE_LIMIT), b""):
                self._take_line(line.rstrip(b"\r\n").decode("utf-8", "replace"))

    def _take_line(self, line: str) -> None:
        with self._changed:
            self._changed.wait_for(
                lambda: len(self._lines) < _BACKLOG_LINES and self._characters < _BACKLOG_CHARACTERS
            )
            self._lines.append(line)
            self._characters += len(line)
            self._changed.notify_all()

    def _read_stderr(self, stream: IO[bytes]) -> None:
        with stream:
            for chunk in iter(lambda: os.read(stream.fileno(), 8192), b""):
                self._take_stderr(chunk.decode("utf-8", "replace"))

    def _take_stderr(self, text: str) -> None:
        with self._changed:
            self._stderr = (self._stderr + text)[-_STDERR_LIMIT:]
            self._changed.notify_all()

    def _wait(self) -> None:
        code = self._process.wait()
        self._ended(code)
        deadline = time.monotonic() + _DRAIN_S
        for reader in self._readers:
            reader.join(max(0.0, deadline - time.monotonic()))
        with self._changed:
            self._exit = code
            self._changed.notify_all()

    def _ended(self, code: int | None) -> None:
        """Whoever sees the end first tells it."""
        with self._changed:
            if code is not None and self._program.is_open:
                self._program.ended(code)

    def _feed(self, text: str) -> None:
        stream = self._process.stdin
        assert stream is not None
        with contextlib.suppress(OSError), stream:
            stream.write(text.encode("utf-8", "surrogateescape"))


class Jobs:
    """The jobs of one session, by name."""

    def __init__(self) -> None:
        self._jobs: dict[str, Job] = {}
        self._closed = False

    def start(
        self, argv: Sequence[str], env: Mapping[str, str], cwd: str | None, stdin: str | None
    ) -> dict[str, Any]:
        if self._closed:
            raise Refusal("failed", "the helper is ending")
        try:
            job = Job(argv, env, cwd, stdin)
        except FileNotFoundError as error:
            raise Refusal(
                "missing", f"{error.filename or argv[0]} is not on this host", {"command": list(argv)}
            ) from None
        name = f"job-{len(self._jobs) + 1}"
        self._jobs[name] = job
        return {"job": name, "pid": job.pid}

    def get(self, name: str) -> Job:
        if name not in self._jobs:
            raise Refusal("invalid", f"no job named {name!r}")
        return self._jobs[name]

    def stop_all(self, grace_s: float = 1.0) -> None:
        """End every job, all at once rather than one grace after the other."""
        self._closed = True
        stops = [
            threading.Thread(target=job.stop, args=(grace_s,), daemon=True) for job in self._jobs.values()
        ]
        for stop in stops:
            stop.start()
        for stop in stops:
            stop.join(grace_s + 2 * _DRAIN_S)


@running
def job_start(
    session: Session,
    argv: list[str],
    env: Mapping[str, str] | None = None,
    cwd: str | None = None,
    stdin: str | None = None,
) -> dict[str, Any]:
    return session.jobs.start(argv, env or {}, cwd, stdin)


@running
def job_poll(session: Session, job: str, wait_s: float = 0.0) -> dict[str, Any]:
    found = session.jobs.get(job)
    told = found.poll(wait_s)
    if told["exit"] is not None:
        found.note()
    return told


@running
def job_stop(session: Session, job: str, grace_s: float = 5.0) -> dict[str, Any]:
    found = session.jobs.get(job)
    told = {"exit": found.stop(grace_s)}
    found.note()
    return told
