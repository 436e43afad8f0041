"""audit.export: records for other programs and other readers."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from runbook import app, report
from runbook.audit import junit
from runbook.audit.chain import is_sound
from runbook.auditing.fetching import fetch_asked
from runbook.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from runbook.audit import Record
    from runbook.auditing.asked import Asked

SCHEMA = 1


def run(asked: Asked) -> int:
    """Write the records asked for, to a file or to stdout; exit 0. Raises UsageError where there is none."""
    fetch_asked(asked)
    records = [
        record for record in asked.records() if not record.is_owed
    ]  # who asks for evidence gets the chain's
    if not records:
        raise UsageError("no audit record here matches: nothing to export")
    text = _FORMATS[asked.format](records)
    if asked.output is not None:
        write(asked.output, text)
    if asked.request.json:
        print(json.dumps(_document(asked, len(records), text)))  # noqa: T201
    elif asked.output is None:
        print(text, end="")  # noqa: T201
    else:
        app.view_of(asked.request).say(f"{len(records)} records in {asked.output}")
    return 0


def _jsonl(records: Sequence[Record]) -> str:
    """The records' own lines, byte for byte: what was hashed."""
    return "".join(f"{record.line.decode('ascii', 'backslashreplace')}\n" for record in records)


def _markdown(records: Sequence[Record]) -> str:
    return "\n".join(f"{report.markdown(record.document).rstrip()}\n" for record in records)


def _html(records: Sequence[Record]) -> str:
    """One page tells one rollout."""
    if len(records) > 1:
        raise UsageError(f"a page tells one rollout, {len(records)} match: name one with --id")
    return report.html(records[0].document, chain=_standing(records[0]))


def _standing(record: Record) -> str:
    """What can be said of the record by itself."""
    right = is_sound(record)
    return f"record #{record.seq} is {'the one' if right else 'NOT the one'} that was hashed as {record.hash}"


_FORMATS: Mapping[str, Callable[[Sequence[Record]], str]] = {
    "jsonl": _jsonl,
    "junit": junit.document,
    "markdown": _markdown,
    "html": _html,
}


def _document(asked: Asked, records: int, text: str) -> dict[str, Any]:
    """What `--json` prints; the text itself only where it went to no file."""
    written = asked.output is not None
    return {
        "schema": SCHEMA,
        "action": "audit.export",
        "format": asked.format,
        "records": records,
        "output": str(asked.output) if written else None,
        "text": None if written else text,
    }


def write(path: Path, text: str) -> None:
    """Replace the file whole: a reader never sees half a report. A device or a pipe is written to, and stays what it is."""
    content = text.encode("utf-8", "replace")
    try:
        whole = path.resolve()  # a link goes on pointing to its file
        if whole.is_dir():
            raise UsageError(f"{path} cannot be written: it is a directory")
        if whole.exists() and not whole.is_file():
            path.write_bytes(content)
            return
        fresh = whole.with_name(f".{whole.name}.new")
        fresh.write_bytes(content)
        fresh.replace(whole)
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror}") from error
    except ValueError:
        raise UsageError(f"{str(path)!r} cannot be written: it is no name of a file") from None
