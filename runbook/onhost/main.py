"""The helper's start: options from the first frame, the lock opened, the warden above, and then the calls."""

from __future__ import annotations

import os
import signal
import sys

from runbook.onhost import dispatch, frames, scope, warden
from runbook.onhost.calls import MODES, Refusal
from runbook.onhost.lock import Lock
from runbook.onhost.serve import SILENCE_S, Server
from runbook.onhost.session import Session

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import IO, Any

_BAD_START = 2


def main() -> int:
    """Run until the channel ends. The first frame is `{"mode", "state", "silence_s", "scope"}`, its answer has id 0."""
    out = sys.stdout.buffer
    sys.stdout = sys.stderr  # nothing but frames ever goes out on the channel
    incoming = frames.read(sys.stdin.buffer)
    options = next(incoming, None)
    if options is None:
        return _BAD_START
    try:
        scope.find_manager(scope.checked(options.get("scope") or "system"))
        lock = _lock(options)
    except (OSError, Refusal) as error:
        return _refuse(out, error)
    return warden.guard(lambda: _help(options, lock, incoming, out))


def _lock(options: dict[str, Any]) -> Lock | None:
    """The lock file of a writing wire, opened before the fork so that warden and helper share its description."""
    if options.get("mode") not in MODES:
        raise Refusal("invalid", f"no mode named {options.get('mode')!r}")
    return Lock(options["state"]) if options["mode"] == "writing" else None


def _refuse(out: IO[bytes], error: Exception) -> int:
    kind = error.kind if isinstance(error, Refusal) else "failed"
    data = error.data if isinstance(error, Refusal) else {}
    out.write(frames.encode({"id": 0, "error": {"kind": kind, "message": str(error), "data": data}}))
    out.flush()
    return _BAD_START


def _help(options: dict[str, Any], lock: Lock | None, incoming: Iterator[Any], out: IO[bytes]) -> int:
    session = Session(options["mode"], lock=lock, scope=options.get("scope") or "system")
    signal.signal(signal.SIGTERM, lambda *_: _leave(session))
    server = Server(session, out, silence_s=float(options.get("silence_s") or SILENCE_S))
    server.send({"id": 0, "ok": {"pid": os.getpid(), "python": ".".join(map(str, sys.version_info[:3]))}})
    # While the controller reads our first word we compile what it nearly always asks for next.
    dispatch.find("observe")
    return server.serve(incoming)


def _leave(session: Session) -> None:
    """The warden is gone: nobody else would end our jobs."""
    session.jobs.stop_all(grace_s=0.2)
    os._exit(1)
