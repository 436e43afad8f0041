"""What an audit task was asked for, as values; a command line that makes no sense is refused here."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from runbook import audit, shipped, since
from runbook.errors import UsageError
from runbook.request import Request
from runbook.verdict import ended_as, words
from runbook.work import utc_now

if TYPE_CHECKING:
    import datetime
    from collections.abc import Mapping, Sequence

    from runbook.audit import Record

FORMATS = ("jsonl", "junit", "markdown", "html")
REPORTS = ("html", "markdown")
ALLOWED_SIGNERS = "allowed_signers"


@dataclass(frozen=True, slots=True)
class Asked:
    """One audit task. `id` is the beginning of a record's id; empty: not said.

    `fetch`: copy the named hosts' new records first. `signed`: an unsigned record is a bad one.
    """

    request: Request
    id: str = ""
    since: datetime.datetime | None = None
    outcomes: frozenset[str] = frozenset()
    format: str = "jsonl"
    output: Path | None = None
    fetch: bool = False
    signed: bool = False
    signers: Path | None = None
    open: bool = False

    @property
    def mirrors(self) -> Path:
        return audit.directory(self.request.directory)

    @property
    def allowed_signers(self) -> Path | None:
        """The file that names whose keys count: the one given, else hosts/allowed_signers where there is one."""
        default = self.request.hosts_dir / ALLOWED_SIGNERS
        return self.signers or (default if default.exists() else None)

    def records(self) -> tuple[Record, ...]:
        """The records asked for, oldest first, and among them those that their host has not got."""
        if self.id:
            return (audit.find(self.mirrors, self.id, self.request.hosts),)
        found = audit.known(self.mirrors, self.request.hosts)
        return tuple(record for record in found if self._wants(record))

    def _wants(self, record: Record) -> bool:
        young = self.since is None or (record.started is not None and record.started >= self.since)
        return young and (
            not self.outcomes or not self.outcomes.isdisjoint((record.outcome, ended_as(record.document)))
        )


def asked(action: str, *, directory: Path | None = None, **given: Any) -> Asked:
    """The values of a task's keyword arguments; raises UsageError."""
    hosts = _names(given.get("host") or ())
    request = Request(
        action,
        hosts=hosts,
        json=given.get("json", False),
        accept_new=given.get("accept_new", False),
        # Of audit.verify what holds is the answer, and wants to be seen.
        verbose=action == "audit.verify" or given.get("verbose", False),
        directory=directory or Path.cwd(),
    )
    if given.get("fetch") and not hosts:
        raise UsageError("--fetch wants --host: whose records should be copied here?")
    return Asked(
        request,
        id=_id(given.get("id") or ""),
        since=since.moment(given["since"], utc_now()) if given.get("since") else None,
        outcomes=frozenset(_outcome(text) for text in given.get("outcome") or ()),
        format=_format(given.get("format"), REPORTS if action == "report" else FORMATS),
        output=Path(given["output"]) if given.get("output") else None,
        fetch=given.get("fetch", False),
        signed=given.get("signed", False),
        signers=_file(given.get("allowed_signers") or ""),
        open=_openable(given),
    )


def _names(names: Sequence[str]) -> tuple[str, ...]:
    """Host names, which become names of files; Invoke takes `--host --json` for a host named --json."""
    for name in names:
        if not name or name.startswith(("-", ".")) or "/" in name:
            raise UsageError(f"--host needs a name, found {name!r}")
    return tuple(dict.fromkeys(names))


def _id(text: str) -> str:
    """The beginning of an id; Invoke takes `audit.show --help` for a record named --help."""
    if text.startswith("-"):
        raise UsageError(
            f"a record's id begins with no dash, found {text!r}; `{shipped.command()} --help TASK` tells of a task"
        )
    return text


def _outcome(text: str) -> str:
    if text not in words():
        raise UsageError(f"--outcome should be one of {', '.join(words())}, found {text!r}")
    return text


def _format(text: str | None, known: Sequence[str]) -> str:
    """One of the known, the first where none is said."""
    if text is None:
        return known[0]
    if text not in known:
        raise UsageError(f"--format should be one of {', '.join(known)}, found {text!r}")
    return text


def _openable(given: Mapping[str, Any]) -> bool:
    """Whether to open the report; raises UsageError for a format that no browser shows."""
    if given.get("open") and given.get("format") != "html":
        raise UsageError("--open is for --format html")
    return bool(given.get("open"))


def _file(text: str) -> Path | None:
    if text and not Path(text).is_file():
        raise UsageError(f"--allowed-signers: there is no file {text}")
    return Path(text) if text else None
