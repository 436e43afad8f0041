"""One place that gives a variable a value."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from runbook.onhost.masking import MASK, is_secret
from runbook.text import one_line

if TYPE_CHECKING:
    from runbook.model import Unit

Kind = Literal["manager environment", "unit file", "drop-in", "environment file", "script", "sourced file"]

_KEYS = {
    "unit file": "drop_ins",
    "drop-in": "drop_ins",
    "environment file": "env_files",
    "sourced file": "sourced",
}


class Place(NamedTuple):
    """A file and line that sets `name`. `value` None: only a run can tell. The manager's environment has no path.

    `allexport`: a sourced file that the script reads under `set -a`.
    """

    kind: Kind
    name: str
    value: str | None
    path: str = ""
    line: int | None = None
    allexport: bool = False

    @property
    def key(self) -> str | None:
        """The key of a unit in the host file that declares files of this kind; None for what is no such file."""
        return _KEYS.get(self.kind)

    def declared(self, unit: Unit) -> bool:
        """Whether the unit's host file lets flags be edited in this file."""
        return self.key is not None and self.path in getattr(unit, self.key)

    @property
    def where(self) -> str:
        """`drop-in /etc/systemd/system/decode.service.d/flags.conf:3`."""
        at = f":{self.line}" if self.line else ""
        return f"{self.kind} {one_line(self.path)}{at}".rstrip()

    @property
    def shown(self) -> str:
        """The value for people, masked where the name looks secret."""
        return "a value only a run can tell" if self.value is None else shown(self.name, self.value)

    def to_json(self) -> dict[str, Any]:
        value = MASK if self.value is not None and is_secret(self.name) else self.value
        return {"kind": self.kind, "path": self.path, "line": self.line, "value": value}


def shown(name: str, value: str | None) -> str:
    """A value as messages show it: absent, quoted on one line, or masked."""
    if value is None:
        return "absent"
    return MASK if is_secret(name) else repr(one_line(value, 120))
