"""The process above one activation of a unit: starts it, reports on it, and ends all of it when told or orphaned.

Run as `python -I -S shim.py` (standard library only, so that it starts fast). The unit manager writes JSON lines to
its stdin: first `{"argv", "env", "cwd", "log_fd"}`, then `{"signal": n, "who": "main" | "all"}`. It answers on stdout:
`{"spawned": pid}`, `{"executed": true}`, `{"exited": [code, status], "empty": bool}` and at last `{"empty": true}`.
When stdin ends the unit manager is gone, and so is the unit: everything is killed. A child subreaper on Linux, so
that every descendant of the unit, however it detached itself, ends up below it: they stand in for the cgroup.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import select
import signal
import sys

_PR_SET_PDEATHSIG, _PR_SET_CHILD_SUBREAPER = 1, 36
_CHDIR, _EXEC = 200, 203


def main() -> int:
    """Run one activation to its end."""
    _adopt_descendants()
    wake = _wake_on_child()
    line, commands = _first_line()
    if not line:
        return 0
    spec = json.loads(line)
    pid, ready = _spawn(spec)
    os.close(spec["log_fd"])
    _tell({"spawned": pid})
    # A signal before the program runs would be lost, so commands wait for this.
    if not os.read(ready, 1):
        _tell({"executed": True})
    _Activation(pid, wake, commands).run()
    return 0


class _Activation:
    def __init__(self, pid: int, wake: int, commands: bytes) -> None:
        self._pid = pid
        self._wake = wake
        self._killing = False
        self._commands = commands

    def run(self) -> None:
        """Follow commands and deaths until no process is left."""
        watched = [0, self._wake]
        self._obey(b"")
        while self._reap():
            # A sweep of SIGKILL can miss a process forked meanwhile, so it is repeated until none is left.
            ready, _, _ = select.select(watched, [], [], 0.05 if self._killing else None)
            if self._wake in ready:
                os.read(self._wake, 512)
            if 0 in ready and not self._obey(os.read(0, 4096)):
                watched = [self._wake]
                self._killing = True
            if self._killing:
                self._send(signal.SIGKILL, "all")
        _tell({"empty": True})

    def _obey(self, chunk: bytes) -> bool:
        """Do what whole lines say; False at the end of the commands."""
        *lines, self._commands = (self._commands + chunk).split(b"\n")
        for line in lines:
            command = json.loads(line)
            self._send(command["signal"], command["who"])
            self._killing |= command["signal"] == signal.SIGKILL and command["who"] == "all"
        return chunk != b""

    def _send(self, number: int, who: str) -> None:
        for pid in self._everyone() if who == "all" else [self._pid]:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, number)

    def _everyone(self) -> list[int]:
        if sys.platform == "linux":
            return _descendants(os.getpid())
        return [self._pid] if self._pid else []

    def _reap(self) -> bool:
        """Collect the dead; False when none is left. The main process's end is told with what is left beside it."""
        told = None
        try:
            while (died := os.waitpid(-1, os.WNOHANG))[0]:
                if died[0] == self._pid:
                    told, self._pid = _exit_of(died[1]), 0
            left = True
        except ChildProcessError:
            left = False
        if told:
            _tell({"exited": told, "empty": not left})
        return left


def _first_line() -> tuple[bytes, bytes]:
    """The first line, and what came behind it: a buffered reader would keep that from `select`."""
    read = b""
    while b"\n" not in read and (chunk := os.read(0, 65536)):
        read += chunk
    line, _, rest = read.partition(b"\n")
    return line, rest


def _adopt_descendants() -> None:
    if sys.platform == "linux":
        libc = ctypes.CDLL(None)
        libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def _wake_on_child() -> int:
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    signal.set_wakeup_fd(writer)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    return reader


def _spawn(spec: dict) -> tuple[int, int]:  # type: ignore[type-arg]
    """Fork the main process; the pipe returned stays empty and is closed when its program runs."""
    reader, writer = os.pipe()
    shim = os.getpid()
    pid = os.fork()
    if pid:
        os.close(writer)
        return pid, reader
    failed = _CHDIR
    try:
        _settle(spec["log_fd"], shim)
        os.chdir(spec["cwd"])
        failed = _EXEC
        os.execve(spec["argv"][0], spec["argv"], spec["env"])
    except OSError as error:
        step = "CHDIR" if failed == _CHDIR else "EXEC"
        os.write(2, f"Failed at step {step} spawning {spec['argv'][0]}: {error.strerror}\n".encode())
    finally:
        os.write(writer, b"!")
        os._exit(failed)


def _settle(log_fd: int, shim: int) -> None:
    """In the child: a session and streams of its own, default signals, and no life without the shim."""
    os.setsid()
    signal.set_wakeup_fd(-1)
    for number in (signal.SIGCHLD, signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGPIPE):
        signal.signal(number, signal.SIG_DFL)
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != shim:
        os._exit(_EXEC)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(log_fd, 1)
    os.dup2(log_fd, 2)
    os.close(log_fd)


def _exit_of(status: int) -> list[int]:
    """CLD_* code and status of a wait status."""
    if os.WIFEXITED(status):
        return [1, os.WEXITSTATUS(status)]
    return [3 if os.WCOREDUMP(status) else 2, os.WTERMSIG(status)]


def _descendants(root: int) -> list[int]:
    """Every living process below `root`, parents first."""
    children: dict[int, list[int]] = {}
    for entry in os.listdir("/proc"):  # noqa: PTH208 - pathlib would double the start
        if entry.isdigit():
            parent = _parent(entry)
            if parent:
                children.setdefault(parent, []).append(int(entry))
    found, at = children.get(root, [])[:], 0
    while at < len(found):
        found.extend(children.get(found[at], []))
        at += 1
    return found


def _parent(pid: str) -> int:
    try:
        with open(f"/proc/{pid}/stat", "rb") as stream:  # noqa: PTH123
            fields = stream.read().rpartition(b")")[2].split()
    except OSError:
        return 0
    return 0 if fields[0] == b"Z" else int(fields[1])


def _tell(event: dict) -> None:  # type: ignore[type-arg]
    with contextlib.suppress(OSError):
        os.write(1, json.dumps(event).encode() + b"\n")


if __name__ == "__main__":
    sys.exit(main())
