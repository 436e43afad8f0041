"""One line of the ledger: a finding that names the flag, the unit, the place, what was found and what to do."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from runbook.text import one_line
from runbook.verdict import Finding, Outcome

if TYPE_CHECKING:
    from collections.abc import Sequence

    from runbook.ledger.settings import Setting

Severity = Literal["warn", "fail"]

_SECRET = re.compile(r"TOKEN|KEY|SECRET|PASSWORD")


@dataclass(frozen=True, slots=True)
class Entry:
    """What is wrong with one flag on `roles`; `places` are where it was found, `wanted` ends the sentence."""

    check: str
    name: str
    roles: tuple[str, ...]
    found: str
    wanted: str
    severity: Severity
    places: tuple[str, ...] = ()

    def finding(self) -> Finding:
        """The finding of `verify` and `hosts.check`. A warning passes, for it must not change the outcome."""
        text = f"{self.name} on {', '.join(self.roles)}: {self.found}; {self.wanted}"
        warns = self.severity == "warn"
        return Finding(
            f"ledger.{self.check}",
            Outcome.PASS if warns else Outcome.FAIL,
            f"warning: {text}" if warns else text,
            {
                "flag": self.name,
                "roles": list(self.roles),
                "where": list(self.places),
                "severity": self.severity,
            },
        )


def shown(name: str, value: str | None) -> str:
    """A value as a message shows it: quoted, one line, masked when its name looks secret."""
    if value is None:
        return "a value only a run can tell"
    return "***" if _SECRET.search(name) else repr(one_line(value, 80))


def places(settings: Sequence[Setting]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(one_line(setting.where, 200) for setting in settings))


def set_in(settings: Sequence[Setting]) -> str:
    """`set to '1' in /root/serve.sh:14, process 4711`; several values each with their places."""
    by_value: dict[str, list[Setting]] = {}
    for setting in settings:
        by_value.setdefault(shown(setting.name, setting.value), []).append(setting)
    return " and ".join(f"set to {value} in {', '.join(places(each))}" for value, each in by_value.items())
