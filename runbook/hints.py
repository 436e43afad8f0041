"""What to type next, by what was found: the last lines of a document that is not well."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Any

from runbook import shipped
from runbook.verdict import Outcome

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


def of(document: Mapping[str, Any]) -> Iterator[str]:
    """Commands that look further, of what only looks itself, and what puts a hand's edit right again; each fits a cause that
    was found."""
    yield from _edited(document)
    if document["action"] not in ("status", "verify"):
        return
    yield from _journals(document)
    yield from _plan(document)
    yield from _books(document)
    yield from _unread(document)


def _edited(document: Mapping[str, Any]) -> Iterator[str]:
    """Of a rollout that failed with files that a hand had changed before: what they were, and how the release is put back."""
    edited = document.get("edited")
    stands = not (document.get("rolled_back_to") or document.get("going_back_to"))
    if edited and stands and document["exit_code"] == 1 and document["action"] in ("deploy", "restart"):
        from runbook import handedits  # here, since most documents have none

        yield from edited["files"]
        yield "to put that release back:"
        yield f"  {handedits.put_back(document['host'], edited['release'])}"


def _journals(document: Mapping[str, Any]) -> Iterator[str]:
    for unit in (document.get("status") or {}).get("units") or ():
        if unit["down"]:
            yield f"what its journal says: {_command(document, 'logs', '--unit', unit['role'])}"


def _plan(document: Mapping[str, Any]) -> Iterator[str]:
    """Drift is what a deploy would end; where its plan is known to be empty, it would not."""
    plan = document["plan"]
    empty = plan is not None and not (plan["changes"] or plan["restarts"])
    if "drift" in _failed(document) and not empty:
        yield f"what a deploy would change: {_command(document, 'plan')}"


def _books(document: Mapping[str, Any]) -> Iterator[str]:
    """What the flag ledger fails no deploy mends, but the host file."""
    if any(check.startswith("ledger.") for check in _failed(document)):
        yield f"the host file is to be mended; it alone is checked by: {_command(document, 'hosts.check')}"


def _unread(document: Mapping[str, Any]) -> Iterator[str]:
    """Nobody can read what runs, and nothing else is wrong: a start by runbook is recorded. What is down has another cause."""
    if _failed(document):
        return
    unread = (found.get("evidence") or {} for found in document["findings"] if _undecided(found))
    for unit in dict.fromkeys(evidence["unit"] for evidence in unread if evidence.get("kind") == "unknown"):
        yield f"what it runs with is recorded where runbook restarts it: {_command(document, 'restart', '--unit', unit)}"


def _undecided(found: Mapping[str, Any]) -> bool:
    return (found["check"], found["outcome"]) == ("drift", Outcome.INCONCLUSIVE.value)


def _failed(document: Mapping[str, Any]) -> set[str]:
    return {found["check"] for found in document["findings"] if found["outcome"] == Outcome.FAIL.value}


def _command(document: Mapping[str, Any], task: str, *words: str) -> str:
    return shlex.join([shipped.command(), task, "--host", document["host"], *words])
