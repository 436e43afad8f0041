"""A reading wire that outlives one loss of the link: a question may be asked again, an action never."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from runbook.errors import LinkLostError
from runbook.ssh.wire import value

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from types import TracebackType

    from runbook.ssh.remote import RemoteWire
    from runbook.ssh.row import Asked


class ReadingWire:
    """Calls that change nothing. `renew` logs in and starts the helper anew; it is asked to at most once."""

    mode: Literal["reading"] = "reading"

    def __init__(self, wire: RemoteWire, renew: Callable[[], RemoteWire]) -> None:
        self._wire = wire
        self._renew: Callable[[], RemoteWire] | None = renew

    def call(self, name: str, /, *, deadline_s: float = 60.0, **args: Any) -> Any:
        """As `RemoteWire.call`; raises LinkLostError when the link is lost a second time."""
        return value(self.answer(name, deadline_s=deadline_s, **args), name)

    def answer(self, name: str, /, *, deadline_s: float = 60.0, **args: Any) -> Mapping[str, Any]:
        """As `RemoteWire.answer`; raises LinkLostError when the link is lost a second time."""
        try:
            return self._wire.answer(name, deadline_s=deadline_s, **args)
        except LinkLostError:
            if self._renew is None:
                raise
        renew, self._renew = self._renew, None
        self._wire = renew()
        return self._wire.answer(name, deadline_s=deadline_s, **args)

    def ask_ahead(self, *row: Asked) -> None:
        self._wire.ask_ahead(*row)

    def close(self) -> None:
        self._renew = None
        self._wire.close()

    def __enter__(self) -> ReadingWire:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
