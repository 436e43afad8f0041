"""report: one rollout as a page for a browser, or in a few lines of Markdown."""

from __future__ import annotations

import json
import re
import webbrowser
from typing import TYPE_CHECKING, Any

from runbook import app, audit, extras, report, shipped
from runbook.auditing import checks
from runbook.auditing.exporting import write
from runbook.auditing.fetching import fetch_asked
from runbook.errors import PreflightError, UsageError

if TYPE_CHECKING:
    from pathlib import Path

    from runbook.audit import Record
    from runbook.auditing.asked import Asked
    from runbook.view import View

SCHEMA = 1
CURVES = extras.Extra("report", "the report", ("matplotlib",), "about 70 MB")


def run(asked: Asked) -> int:
    """Write the report of the record asked for, the youngest where none is; exit 0. Raises UsageError."""
    fetch_asked(asked)
    record = audit.find(asked.mirrors, asked.id, asked.request.hosts)
    view = app.view_of(asked.request)
    markdown = asked.format == "markdown"
    path = asked.output or (None if markdown else _default_path(asked, record))
    text = report.markdown(record.document) if markdown else _page(asked, record, view)
    if path is not None:
        write(path, text)
    _tell(asked, view, record, path, text)
    if asked.open and path is not None and not webbrowser.open(path.resolve().as_uri()):
        view.say("there is no browser to open it with")
    return 0


def _page(asked: Asked, record: Record, view: View) -> str:
    """The page; without its curves where they cannot be had, which is said on it."""
    try:
        extras.ensure(CURVES, CURVES.lock, view.say)
    except PreflightError as error:
        view.say(f"no curves: {error}")
    return report.html(record.document, chain=_standing(asked, record))


def _standing(asked: Asked, record: Record) -> str:
    """What can be said from here of the chain the record stands in."""
    if record.is_owed:
        return "not in the host's chain: its record could not be appended there"
    found = checks.chain(audit.mirror_of(asked.mirrors, record).read_bytes())
    return f"this copy of the chain: {found.message}; `{shipped.command()} audit.verify` asks the host too"


def _default_path(asked: Asked, record: Record) -> Path:
    """Beside the mirrors; what the record says of itself is not trusted with the name of a file."""
    directory = asked.request.directory / ".runbook" / "reports"
    try:
        directory.mkdir(parents=True, exist_ok=True, mode=0o700)
    except OSError as error:
        raise UsageError(f"{directory} cannot be made: {error.strerror}") from error
    return directory / (re.sub(r"[^\w-]+", "-", f"{record.host}-{record.id}")[:120] + ".html")


def _tell(asked: Asked, view: View, record: Record, path: Path | None, text: str) -> None:
    if asked.request.json:
        print(json.dumps(_document(asked, record, path, text)))  # noqa: T201
    elif path is None:
        print(text, end="")  # noqa: T201
    else:
        view.say(f"report of {record.id} in {path}")


def _document(asked: Asked, record: Record, path: Path | None, text: str) -> dict[str, Any]:
    """What `--json` prints; the text itself only where it went to no file."""
    return {
        "schema": SCHEMA,
        "action": "report",
        "host": record.host,
        "rollout": record.id,
        "format": asked.format,
        "output": str(path) if path else None,
        "text": None if path else text,
    }
