"""What the host file, the scripts and the processes say about flags that a person should know."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from runbook.ledger.catalogue import near
from runbook.ledger.entries import Entry, places, set_in, shown

if TYPE_CHECKING:
    import datetime
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from runbook.ledger.catalogue import Catalogue
    from runbook.ledger.entries import Severity
    from runbook.ledger.settings import Setting
    from runbook.model import Argument, Flag, Host
    from runbook.verdict import Finding

UNEXPLAINED = "FILL IN"  # as hosts.adopt writes it (inventory/adopt.py)
_DECLARE = "declare it under flags with a reason, or declare it absent and deploy"


@dataclass(frozen=True, slots=True)
class Books:
    """Everything the ledger reads: the host's declarations, the settings found, the catalogue and the day."""

    host: Host
    settings: Sequence[Setting]
    catalogue: Catalogue
    today: datetime.date

    @property
    def declared(self) -> Mapping[str, Flag]:
        return {flag.name: flag for flag in self.host.flags}

    def entries(self) -> Iterator[tuple[Flag | Argument, tuple[str, ...]]]:
        """Every declared flag and launch argument with the roles it is declared for."""
        yield from ((flag, flag.units) for flag in self.host.flags)
        yield from ((argument, (unit.role,)) for unit in self.host.units for argument in unit.args)

    @property
    def known(self) -> frozenset[str]:
        return self.catalogue.known | self.declared.keys()

    def found(self) -> dict[tuple[str, str], list[Setting]]:
        """Settings by role and name, in the order they were found."""
        grouped: dict[tuple[str, str], list[Setting]] = {}
        for setting in self.settings:
            grouped.setdefault((setting.role, setting.name), []).append(setting)
        return grouped

    def undeclared(self) -> dict[tuple[str, str], list[Setting]]:
        """Settings of the engine's variables that nobody declared for that role."""
        named = {(role, flag.name) for flag in self.host.flags for role in flag.units}
        return {
            key: found
            for key, found in self.found().items()
            if key not in named and self.catalogue.is_ours(key[1])
        }


def findings(
    host: Host, settings: Sequence[Setting], *, catalogue: Catalogue, today: datetime.date
) -> list[Finding]:
    """The ledger's findings, none when the books are in order.

    Severity: undeclared names and arguments by `policy.undeclared_flags`; expired flags and declared diagnostics
    without an expiry by `policy.expired_flags`; a declared value that SGLang does not read always fails; misspelt and
    old names, repeated assignments, reasons never filled in and differences of the pair always warn. A warning is a
    finding that passes, its message begins with `warning: ` and its evidence says `"severity": "warn"`. No finding
    concerns a deploy.
    """
    books = Books(host, settings, catalogue, today)
    return [entry.finding() for check in _CHECKS for entry in check(books)]


def _undeclared(books: Books) -> Iterator[Entry]:
    for (role, name), found in books.undeclared().items():
        entry = _undeclared_entry(books, role, name, found)
        if entry is not None:
            yield entry


def _undeclared_entry(books: Books, role: str, name: str, found: Sequence[Setting]) -> Entry | None:
    severity: Severity = books.host.policy.undeclared_flags
    said, where = set_in(found), places(found)
    elsewhere = books.declared.get(name)
    if elsewhere is not None:
        said += f", declared in {books.host.source} for {', '.join(elsewhere.units)} only"
        return Entry(
            "undeclared", name, (role,), said, f"add {role} to its units, or take it out", severity, where
        )
    said += f", not declared in {books.host.source}"
    if cost := books.catalogue.diagnostic(name, found[-1].value):
        wanted = (
            f"a diagnostic ({cost}): declare it absent and deploy, or declare it with a reason and an expiry"
        )
        return Entry("diagnostic", name, (role,), said, wanted, severity, where)
    if name not in books.catalogue.known and (meant := near(name, books.known)):
        return Entry(
            "misspelt",
            name,
            (role,),
            said,
            f"SGLang ignores names it does not know; did you mean {meant}?",
            severity,
            where,
        )
    return Entry("undeclared", name, (role,), said, _DECLARE, severity, where)


def _arguments(books: Books) -> Iterator[Entry]:
    declared = {(unit.role, argument.name) for unit in books.host.units for argument in unit.args}
    for (role, name), found in books.found().items():
        if (role, name) in declared:
            continue
        if found[0].is_argument and (cost := books.catalogue.diagnostic(name, found[0].value)):
            wanted = f"a diagnostic ({cost}): take it out, or declare it under units.{role}.args with a reason and an expiry"
            said = f"an argument of the launch in {', '.join(places(found))}"
            yield Entry(
                "diagnostic", name, (role,), said, wanted, books.host.policy.undeclared_flags, places(found)
            )


def _expired(books: Books) -> Iterator[Entry]:
    for entry, roles in books.entries():
        if entry.expires is not None and entry.expires < books.today:
            days = (books.today - entry.expires).days
            said = f"expired on {entry.expires} ({days} day{'s' if days > 1 else ''} ago), wanted{_since(entry)} for: {entry.why}"
            wanted = f"{_asks(entry)}remove it or give it a new date and reason"
            yield _declared(
                books, "expired", entry.name, roles, said, wanted, books.host.policy.expired_flags
            )


def _unexplained(books: Books) -> Iterator[Entry]:
    for entry, roles in books.entries():
        if UNEXPLAINED in entry.why:
            said, wanted = f"its reason says {UNEXPLAINED}", "say why it is wanted, and who to ask"
            yield _declared(books, "unexplained", entry.name, roles, said, wanted, "warn")


def _without_expiry(books: Books) -> Iterator[Entry]:
    for entry, roles in books.entries():
        cost = None if entry.absent else books.catalogue.diagnostic(entry.name, entry.value)
        if cost and entry.expires is None:
            value = "present" if entry.value is None else shown(entry.name, entry.value)
            said = f"declared {value}{_since(entry)}, a diagnostic ({cost}) without an expiry"
            severity = books.host.policy.expired_flags
            yield _declared(books, "diagnostic", entry.name, roles, said, "give it an expires date", severity)


def _rejected(books: Books) -> Iterator[Entry]:
    for flag in books.host.flags:
        reads = books.catalogue.rejected(flag.name, flag.value) if flag.value is not None else None
        if reads:
            said = f"declared {shown(flag.name, flag.value)}, which SGLang does not read"
            yield _of_flag(books, "rejected", flag, said, _reads(reads), "fail")


def _rejected_undeclared(books: Books) -> Iterator[Entry]:
    for (role, name), found in books.undeclared().items():
        last = found[-1]
        reads = books.catalogue.rejected(name, last.value) if last.value is not None else None
        if reads:
            severity = books.host.policy.undeclared_flags
            yield Entry(
                "rejected",
                name,
                (role,),
                f"{set_in(found)}, which SGLang does not read",
                _reads(reads),
                severity,
                places(found),
            )


def _misspelt(books: Books) -> Iterator[Entry]:
    for flag in books.host.flags:
        meant = None if flag.name in books.catalogue.known else near(flag.name, books.catalogue.known)
        if meant and books.catalogue.is_ours(flag.name):
            yield _of_flag(
                books,
                "misspelt",
                flag,
                "no name that SGLang is known to read",
                f"did you mean {meant}? It ignores others in silence",
                "warn",
            )


def _renamed(books: Books) -> Iterator[Entry]:
    for flag in books.host.flags:
        if flag.value is not None and (new := books.catalogue.renamed.get(flag.name)):
            said = f"an old name, which SGLang copies to {new} inside its process"
            yield _of_flag(
                books, "renamed", flag, said, f"declare {new} instead, and this one absent", "warn"
            )


def _repeated(books: Books) -> Iterator[Entry]:
    for (role, name), found in books.found().items():
        written = [setting for setting in found if not setting.running and not setting.is_argument]
        if len(written) > 1 and (books.catalogue.is_ours(name) or name in books.declared):
            wanted = f"the last one wins, {places(written)[-1]}; keep one"
            yield Entry("repeated", name, (role,), set_in(written), wanted, "warn", places(written))


def _pair(books: Books) -> Iterator[Entry]:
    """Settings of prefill and decode that differ although nobody declared so."""
    if not {"prefill", "decode"} <= {unit.role for unit in books.host.units if unit.script}:
        return
    found = books.found()
    names = dict.fromkeys(name for _, name in books.undeclared() if name not in books.declared)
    for name in names:
        sides = {role: found.get((role, name), []) for role in ("prefill", "decode")}
        values = {role: shown(name, each[-1].value) if each else "absent" for role, each in sides.items()}
        if values["prefill"] != values["decode"]:
            said = f"{values['prefill']} on prefill and {values['decode']} on decode"
            where = places([setting for each in sides.values() for setting in each])
            yield Entry(
                "pair",
                name,
                ("prefill", "decode"),
                said,
                "declare what each should have, and why they differ",
                "warn",
                where,
            )


def _of_flag(books: Books, check: str, flag: Flag, found: str, wanted: str, severity: Severity) -> Entry:
    return _declared(books, check, flag.name, flag.units, found, wanted, severity)


def _declared(
    books: Books, check: str, name: str, roles: tuple[str, ...], found: str, wanted: str, severity: Severity
) -> Entry:
    source = books.host.source
    return Entry(check, name, roles, f"{found} ({source})", wanted, severity, (source,))


def _asks(flag: Flag | Argument) -> str:
    return f"ask {flag.owner}, then " if flag.owner else ""


def _since(entry: Flag | Argument) -> str:
    return f" since {entry.since}" if entry.since else ""


def _reads(reads: str) -> str:
    return f"it reads {reads}, and for anything else raises or falls back to its default"


_CHECKS: tuple[Callable[[Books], Iterator[Entry]], ...] = (
    _undeclared,
    _arguments,
    _unexplained,
    _expired,
    _without_expiry,
    _rejected,
    _rejected_undeclared,
    _misspelt,
    _renamed,
    _repeated,
    _pair,
)
