"""The helper in this process: the same calls on this machine, without SSH. What upper layers are tested against."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from runbook.onhost import dispatch
from runbook.onhost.session import Session
from runbook.ssh import wire

if TYPE_CHECKING:
    from collections.abc import Mapping
    from types import TracebackType

    from runbook.ssh.row import Asked


class InProcessWire:
    """A Wire onto this machine. Arguments and values pass through JSON as on the real one.

    `proc` replaces the process file system. Closing stops the jobs and frees the lock.
    """

    def __init__(self, mode: wire.Mode, *, proc: str = "/proc", scope: str = "system") -> None:
        self.mode = mode
        self._session = Session(mode, proc=proc, scope=scope)

    def call(self, name: str, /, *, deadline_s: float = 60.0, **args: Any) -> Any:
        return wire.value(self.answer(name, **args), name)

    def answer(self, name: str, /, *, deadline_s: float = 60.0, **args: Any) -> Mapping[str, Any]:
        request = json.loads(json.dumps({"id": 1, "call": name, "args": args}))
        found: Mapping[str, Any] = json.loads(json.dumps(dispatch.answer(request, self._session)))
        return found

    def ask_ahead(self, *row: Asked) -> None:
        """Nothing is gained by it here."""

    def close(self) -> None:
        self._session.close()

    def __enter__(self) -> InProcessWire:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
