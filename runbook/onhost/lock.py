"""The deploy lock: an flock on `<state>/lock`, held by an open description that dies with helper and warden.

The file's text names the holder; whether anybody holds it, only the flock says. So nothing is ever stale.
"""

from __future__ import annotations

import errno
import fcntl
import json
import os
import time

from runbook.onhost import state as directory
from runbook.onhost.calls import Refusal, writing

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Mapping
    from typing import Any

    from runbook.onhost.session import Session

_HOLDER_LIMIT_BYTES = 16 * 1024
# A reader asks by taking a shared flock for a moment; a writer outlasts that before it says "locked".
_TRIES, _PAUSE_S = 10, 0.02


class Lock:
    """At most one lock file, opened once: by the warden before it forks, or here on first use."""

    def __init__(self, state: str | None = None) -> None:
        self._descriptor = -1
        self._state = ""
        self.held = False
        if state is not None:
            self.open(state)

    def open(self, state: str) -> None:
        """Open the lock file of a state directory, making both where needed; no flock is taken yet."""
        path = os.path.join(directory.ensure(state), "lock")
        flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
        self._descriptor = os.open(path, flags, directory.PRIVATE_FILE)
        self._state = state

    def take(self, state: str, holder: Mapping[str, Any]) -> None:
        """Hold the lock in `holder`'s name; Refusal `locked` with the other holder as data."""
        if self._descriptor < 0:
            self.open(state)
        if state != self._state or not self._same_file():
            raise Refusal("invalid", f"the lock of {self._state} was opened, not that of {state}")
        if not _flock(self._descriptor, fcntl.LOCK_EX):
            other = _read(self._descriptor)
            raise Refusal("locked", f"locked by {words(other)}", other)
        self.held = True
        self._write(holder)

    def step(self, name: str) -> None:
        """Tell others how far the holder has come."""
        if not self.held:
            raise Refusal("invalid", "no lock is held")
        self._write({**_read(self._descriptor), "step": name})

    def require(self, state: str) -> None:
        """Refusal unless this lock of this state directory is held: what follows is only right for one at a time."""
        if not self.held or state != self._state:
            raise Refusal("invalid", f"the lock of {state} is not held")

    def release(self) -> None:
        """Free the lock; freeing a free one is fine."""
        if self.held:
            os.ftruncate(self._descriptor, 0)
            fcntl.flock(self._descriptor, fcntl.LOCK_UN)
            self.held = False

    def close(self) -> None:
        """Free the lock and close its file."""
        self.release()
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def _same_file(self) -> bool:
        try:
            found = os.stat(os.path.join(self._state, "lock"))
        except FileNotFoundError:
            return False
        return os.path.samestat(found, os.fstat(self._descriptor))

    def _write(self, holder: Mapping[str, Any]) -> None:
        content = json.dumps(dict(holder)).encode("utf-8")[:_HOLDER_LIMIT_BYTES]
        os.pwrite(self._descriptor, content, 0)
        os.ftruncate(self._descriptor, len(content))
        os.fsync(self._descriptor)


def holder(state: str) -> dict[str, Any] | None:
    """Who holds the lock of a state directory right now; None: nobody."""
    path = os.path.join(state, "lock")
    if not os.path.exists(path):
        return None
    # A pipe in its place would keep whoever looks waiting for a writer.
    with directory.opened(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK) as descriptor:
        free = _try_flock(descriptor, fcntl.LOCK_SH)
        return None if free else _read(descriptor)


def _flock(descriptor: int, kind: int) -> bool:
    for _ in range(_TRIES):
        if _try_flock(descriptor, kind):
            return True
        time.sleep(_PAUSE_S)
    return False


def _try_flock(descriptor: int, kind: int) -> bool:
    try:
        fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno in (errno.EWOULDBLOCK, errno.EACCES):
            return False
        raise
    return True


def _read(descriptor: int) -> dict[str, Any]:
    try:
        found = json.loads(os.pread(descriptor, _HOLDER_LIMIT_BYTES, 0) or b"{}")
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def words(found: Mapping[str, Any]) -> str:
    """Who holds a lock, since when and in which step."""
    who = found.get("who") or "somebody"
    since = f" since {found['since']}" if found.get("since") else ""
    step = f", now at: {found['step']}" if found.get("step") else ""
    return f"{who}{since}{step}"


@writing
def lock(
    session: Session,
    state: str,
    holder: Mapping[str, Any],
    units: Collection[str] = (),
    files: Collection[str] = (),
) -> dict[str, Any]:
    session.lock.take(state, {**holder, "units": list(units)} if units else holder)
    if units:
        _refuse_others(session, state, units, files)
    return {}


def _refuse_others(session: Session, state: str, units: Collection[str], files: Collection[str]) -> None:
    """Refusal `locked` where somebody is at work on one of the units by another service directory, whose lock is another."""
    from runbook.onhost import beside  # here, since it asks this module for their locks

    for other in beside.services(state, units, files, session.scope):
        if other["lock"] is not None:
            session.lock.release()
            raise Refusal("locked", f"locked by {beside_words(other)}", other["lock"])


def beside_words(other: Mapping[str, Any]) -> str:
    """The same of a service directory beside ours, saying which, and by which unit the two are one service."""
    return f"{words(other['lock'])}, by {other['state']}, which has {', '.join(other['units'])}, too"


@writing
def lock_step(session: Session, step: str) -> dict[str, Any]:
    session.lock.step(step)
    return {}
