"""What the flag ledger reports of a host: its file, and where it was observed its scripts and processes."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from runbook import inventory, ledger, shipped
from runbook.edits import launch_args
from runbook.errors import EditRefusedError
from runbook.ledger.entries import Entry
from runbook.places import origins
from runbook.places.reading import Files
from runbook.verdict import Finding, Outcome
from runbook.verify import optionnames

if TYPE_CHECKING:
    import datetime
    from collections.abc import Collection, Iterator

    from runbook.ledger import Setting
    from runbook.model import Host, Observation, Unit


_COMMAND_LINE = "--set on the command line"
_OF_VALUES = ("ledger.rejected", "ledger.diagnostic")


def book(host: Host, seen: Observation | None, today: datetime.date) -> tuple[Finding, ...]:
    """What the flag ledger reports of a host file and, where a host was observed, of its scripts and processes."""
    settings = (
        [] if seen is None else [setting for unit in host.units for setting in _settings(unit, host, seen)]
    )
    catalogue = ledger.parse(inventory.document(ledger.SHIPPED))
    found = ledger.findings(host, settings, catalogue=catalogue, today=today)
    return (*_unmeasured(host), *_declared_twice(host), *optionnames.remarks(host), *found)


def _unmeasured(host: Host) -> Iterator[Finding]:
    """A host file by which no deploy can prove anything."""
    if not (host.validations or host.bench):
        said = f"warning: {host.source} declares no validation and no bench"
        wanted = f"a deploy measures nothing and proves no release; {shipped.shown('hosts/profiles')} has some to copy"
        yield Finding("ledger.unmeasured", Outcome.PASS, f"{said}; {wanted}", {"severity": "warn"})


def _declared_twice(host: Host) -> Iterator[Finding]:
    """Launch arguments that a plan would refuse, since only one of their values can be the option's."""
    for unit in host.units:
        for name, other in launch_args.twice(argument.name for argument in unit.args):
            said = f"is the same option as {name}"
            yield Entry("twice", other, (unit.role,), said, "declare it once", "fail").finding()


def of_settings(
    declared: Host, overridden: Host, names: Collection[str], today: datetime.date
) -> tuple[Finding, ...]:
    """What the ledger says of these flags as --set and --unset want them, each by where it stands: the host file or there."""
    own = {flag.name for flag in declared.flags}
    return tuple(
        finding
        for by_file, host in ((True, overridden), (False, overridden._replace(source=_COMMAND_LINE)))
        for finding in book(host, None, today)
        if (flag := finding.evidence.get("flag")) in names
        and (flag in own and finding.check not in _OF_VALUES) is by_file
    )


def _settings(unit: Unit, host: Host, seen: Observation) -> Iterator[Setting]:
    content = seen.files[unit.script].content if unit.script else None
    if unit.script and content is not None:
        # What cannot be read is no assignment; the flag table says that it cannot be read.
        with contextlib.suppress(EditRefusedError):
            script = list(ledger.of_script(unit.role, unit.script, origins.read_script(unit.script, content)))
            weaker, winning = _elsewhere(unit, host, seen)
            yield from (*weaker, *script, *winning)  # the ledger takes the last for the one that wins
    yield from ledger.of_processes(unit.role, seen.units[unit.name].processes)


def _elsewhere(unit: Unit, host: Host, seen: Observation) -> tuple[list[Setting], list[Setting]]:
    """What drop-ins, environment files, sourced files and systemd's manager set of the variables we follow.

    First those the script has the last word on, then those that have it themselves.
    """
    found = origins.of(unit, host.flags, Files(seen))
    settings: tuple[list[Setting], list[Setting]] = ([], [])
    for name, places in found.places.items():
        for place in places:
            if place.kind != "script":
                setting = ledger.Setting(unit.role, name, place.value, place.where)
                settings[place is found.winner(name)].append(setting)
    return settings
