"""Chains as bytes, and a wire onto one in memory."""

from __future__ import annotations

import base64
import hashlib
import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from runbook.errors import FileChangedError
from runbook.onhost import audit

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from runbook.ssh.row import Asked

# A record with a value of every kind JSON has, and texts that have to be escaped.
VARIED: Mapping[str, Any] = {
    "schema": 1,
    "id": "20261130T035111-14c6",
    "host": "gpu1",
    "action": "deploy",
    "outcome": "pass",
    "exit_code": 0,
    "started": "2026-11-30T03:51:11.000+00:00",
    "ended": "2026-11-30T03:52:11.500+00:00",
    "operator": {"user": "ann", "host": "laptop", "git": "Ann Ä <ann@example.net>"},
    "reason": 'fix "it"\n\\ and \u2028 ünïcode \U0001f600',
    "share": 0.25,
    "tiny": 1e-09,
    "below": -3,
    "nothing": None,
    "yes": True,
    "no": False,
    "rows": [[], {}, {"a": [1, 2.5, "x"]}],
}


def record(number: int, **more: Any) -> dict[str, Any]:
    """A short record of its own."""
    return {
        "id": f"2026113{number}T000000-{number:04x}",
        "host": "gpu1",
        "action": "verify",
        "n": number,
    } | more


def chain_of(records: Iterable[Mapping[str, Any]], content: bytes = b"") -> bytes:
    """The chain a host would have after appending these, from `content` on."""
    for one in records:
        newline = b"\n" if content and not content.endswith(b"\n") else b""
        content += newline + audit.canonical_line(audit.linked(one, audit.place(content)))
    return content


def three() -> bytes:
    return chain_of([VARIED, record(2), record(3)])


@dataclass
class ChainWire:
    """A host that has nothing but an audit chain; `limit` is how many bytes of it one answer carries."""

    content: bytes = b""
    heads: list[tuple[int, str]] = field(default_factory=list)
    limit: int = audit.LIMIT_BYTES
    mode: str = "reading"
    others: list[Mapping[str, Any]] = field(default_factory=list)

    def call(self, name: str, /, *, deadline_s: float = 60.0, **args: Any) -> Any:
        return json.loads(json.dumps(getattr(self, f"_{name}")(**args)))

    def ask_ahead(self, *row: Asked) -> None:
        """Answers come at once."""

    def _audit_read(self, state: str, offset: int = 0, sha256: str | None = None) -> dict[str, Any]:
        before = self.content[:offset]
        same = len(before) == offset and hashlib.sha256(before).hexdigest() == sha256
        more = base64.b64encode(self.content[offset : offset + self.limit]).decode()
        return {"size": len(self.content), "same": same, "b64": more}

    def _audit_heads(self, state: str) -> dict[str, Any]:
        return {"heads": self.heads, "detail": "" if self.heads else "no program journalctl on this host"}

    def _audit_place(self, state: str) -> dict[str, Any]:
        """Before the answer is used, another run may append: `others` are such records, one a turn."""
        here = audit.place(self.content)
        if self.others:
            self.content = chain_of([self.others.pop(0)], self.content)
        return here

    def _audit_append(
        self, state: str, record: Mapping[str, Any], expected: Any = None, once: bool = False
    ) -> dict[str, Any]:
        if expected is not None and expected != audit.place(self.content):
            raise FileChangedError("the audit chain has grown meanwhile")
        self.content = chain_of([record], self.content)
        last = json.loads(self.content.splitlines()[-1])
        return {"known": False, "seq": last["seq"], "hash": last["hash"], "journal": ""}
