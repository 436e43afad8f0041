"""One record of a chain as a value, and the records of a file. What is in them is data of others: it may be anything."""

from __future__ import annotations

import datetime
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from runbook.onhost.audit import record_of

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path


@dataclass(frozen=True, slots=True)
class Record:
    """A record: `document` is all of it (docs/architecture.md, "The audit record"), `line` its bytes without the newline."""

    document: Mapping[str, Any]
    line: bytes

    @property
    def seq(self) -> int:
        """Its place in the chain, from 1; 0 where it has none."""
        return int(self.document["seq"] or 0)

    @property
    def hash(self) -> str:
        return str(self.document["hash"] or "")

    @property
    def is_owed(self) -> bool:
        """It is not in the host's chain, but what was known here when it could not be appended (runbook.audit.owed)."""
        return self.document["seq"] is None

    @property
    def id(self) -> str:
        """The rollout's id."""
        return self.text("id")

    @property
    def host(self) -> str:
        """The host file's name."""
        return self.text("host")

    @property
    def action(self) -> str:
        return self.text("action")

    @property
    def outcome(self) -> str:
        return self.text("outcome")

    @property
    def started(self) -> datetime.datetime | None:
        """UTC; None where the record does not say."""
        return moment(self.document.get("started"))

    @property
    def ended(self) -> datetime.datetime | None:
        """UTC; None where the record does not say."""
        return moment(self.document.get("ended"))

    def text(self, key: str) -> str:
        """A field as text, empty where it is not there or null."""
        value = self.document.get(key)
        return "" if value is None else str(value)

    def table(self, key: str) -> Mapping[str, Any]:
        """A field that should be a mapping, empty where it is none."""
        value = self.document.get(key)
        return value if isinstance(value, dict) else {}

    def rows(self, key: str) -> tuple[Mapping[str, Any], ...]:
        """The mappings of a field that should be a list of them."""
        value = self.document.get(key)
        return tuple(row for row in value if isinstance(row, dict)) if isinstance(value, list) else ()


def parse(line: bytes) -> Record | None:
    """The record of a line, None where it is none."""
    found = record_of(line)
    return None if found is None else Record(found, line)


def records(path: Path) -> tuple[Record, ...]:
    """The records of a file, oldest first, none where there is no file. What is no record is left to `audit.verify`."""
    return records_of(path.read_bytes()) if path.exists() else ()


def records_of(content: bytes) -> tuple[Record, ...]:
    """The records of a file's bytes, in their order."""
    return tuple(found for line in content.split(b"\n") if (found := parse(line)) is not None)


def moment(text: Any) -> datetime.datetime | None:
    """A time of ISO 8601 in UTC, None where it is none of our days; one without a zone is taken for UTC."""
    try:
        found = datetime.datetime.fromisoformat(text)
    except (TypeError, ValueError):
        return None
    if not 1970 < found.year < 9999:  # beyond, other zones and clocks know no such time
        return None
    return found.replace(tzinfo=datetime.UTC) if found.tzinfo is None else found.astimezone(datetime.UTC)
