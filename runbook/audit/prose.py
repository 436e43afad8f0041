"""A record as lines for people: who, when, why, what was done, what was measured, and its place in the chain."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from runbook.audit import ran
from runbook.verdict import ended_as

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from runbook.audit.record import Record

_SHORT_HASH = 12
_BELOW = "            "  # where the texts of the head begin


def lines(record: Record, *, every_call: bool = False) -> list[str]:
    """All of it that a person reads; `--json` has the rest. Texts are as they were recorded: clean them before showing.

    A text of several lines goes on indented, so that no text passes for a line of ours.
    """
    on_host = ran.lines if every_call else ran.summary
    parts = (_head, _near_end, _machine, _done, _steps, _findings, _measured, on_host, _place)
    return [line for part in parts for said in part(record) for line in _indented(said)]


def _indented(said: str) -> list[str]:
    first, *more = said.splitlines() or [""]
    return [first, *(f"{_BELOW}{line}" for line in more)]


_WHERE = (
    ("release", "release"),
    ("verdict", "verdict"),
    ("rolled_back_to", "back to"),
    ("going_back_to", "not yet at"),
)


def _head(record: Record) -> Iterator[str]:
    exit_code = record.document.get("exit_code")
    yield f"{record.action} {record.host}: {ended_as(record.document).upper()} (exit {exit_code})"
    yield f"  id        {record.id}"
    yield f"  time      {record.text('started')} to {record.text('ended')}{_lasted(record)}"
    if reason := record.text("reason"):
        yield f"  reason    {reason}"
    if error := record.text("error"):
        yield f"  error     {error}"
    for key, label in _WHERE:
        if value := record.text(key):
            yield f"  {label:<9} {value}"
    if by := record.text("recorded_by"):
        yield f"  recorded  by {by}: this rollout left no record of its own"


def _lasted(record: Record) -> str:
    if record.started is None or record.ended is None:
        return ""
    return f" ({(record.ended - record.started).total_seconds():.1f} s)"


def _near_end(record: Record) -> Iterator[str]:
    operator, tool = record.table("operator"), record.table("tool")
    who = f"{operator.get('user')}@{operator.get('host')}" if operator.get("user") else operator.get("who")
    yield f"  operator  {_joined(who, operator.get('git'), operator.get('fingerprint'))}"
    if isinstance(job := operator.get("ci"), dict):
        yield f"  job       {_joined(job.get('system'), job.get('job'), job.get('actor'), job.get('url'))}"
    if tool:
        yield f"  runbook   {_joined(tool.get('version'), _revision(tool))}"


def _machine(record: Record) -> Iterator[str]:
    facts = record.table("facts")
    if facts:
        yield f"  machine   {_joined(facts.get('hostname'), facts.get('kernel'), facts.get('error'))}"
    for gpu in _rows(facts, "gpus"):
        yield f"  gpu {gpu.get('index')}     {gpu.get('name')}, driver {gpu.get('driver')}"
    if isinstance(checkout := facts.get("checkout"), dict):
        yield f"  source    {_joined(checkout.get('path'), _revision(checkout), checkout.get('error'))}"
    servers = facts.get("servers")
    for role, server in servers.items() if isinstance(servers, dict) else ():
        if isinstance(server, dict):
            yield f"  server    {role}: {server.get('error') or server.get('version')}"


def _done(record: Record) -> Iterator[str]:
    plan = record.table("plan")
    for change in _rows(plan, "changes"):
        yield from str(change.get("diff", "")).splitlines()
    for file in record.rows("files"):
        yield f"wrote {file.get('path')}: {_hash(file.get('before'))} to {_hash(file.get('after'))}"
    why = {str(row.get("unit")): row.get("why") for row in _rows(plan, "restarts")}
    for restart in record.rows("restarts"):
        unit = str(restart.get("unit"))
        pids = f"MainPID {restart.get('before') or 'none'} to {restart.get('after') or 'none'}"
        reason = why.pop(unit, "on the way back" if plan else "")  # a plan restarts a unit once
        yield f"restarted {unit}: {pids}{f' ({reason})' if reason else ''}"


def _steps(record: Record) -> Iterator[str]:
    for step in record.rows("steps"):
        detail = f"  {step['detail']}" if step.get("detail") else ""
        yield f"{step.get('outcome')!s:<5} {step.get('name')}  {step.get('duration_s')} s{detail}"


def _findings(record: Record) -> Iterator[str]:
    for finding in record.rows("findings"):
        yield f"{finding.get('outcome')!s:<5} {finding.get('check')}: {finding.get('message')}"


def _measured(record: Record) -> Iterator[str]:
    for run in record.rows("validations"):
        told = run.get("lines")
        yield f"{run.get('name')}:"
        yield from (f"  {line}" for line in (told if isinstance(told, list) else ()))


def _place(record: Record) -> Iterator[str]:
    if record.is_owed:
        yield "not in the host's chain: this is what was known here when its record could not be appended there"
        return
    signed = "signed" if "signature" in record.document else "not signed"
    yield f"record #{record.seq} {record.hash} continues {record.text('prev')[:_SHORT_HASH]}, {signed}"


def _revision(found: Mapping[str, Any]) -> str:
    revision = str(found.get("revision") or "")[:_SHORT_HASH]
    return f"{revision}+dirty" if revision and found.get("dirty") else revision


def _hash(value: Any) -> str:
    return str(value)[:_SHORT_HASH] if value else "absent"


def _joined(*parts: Any) -> str:
    return ", ".join(str(part) for part in parts if part)


def _rows(table: Mapping[str, Any], key: str) -> list[Mapping[str, Any]]:
    found = table.get(key)
    return [row for row in found if isinstance(row, dict)] if isinstance(found, list) else []
