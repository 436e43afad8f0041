"""A host file written from what is found on a machine, for a person to fill in the reasons."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from runbook import shipped
from runbook.text import one_line

if TYPE_CHECKING:
    import datetime
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from runbook.model import SshTarget, Unit

_LOADABLE = re.compile(r"[^\x00-\x08\x0a-\x1f\x7f]*")
_MASKED = "***"
_USUAL = "/var/lib/runbook"  # state_dir where a host file names none
# As in the profiles. With less than this wait for health a cold JIT cache would count as a failed start.
_MEASURES = (
    "wait:",
    "  health: {attempts: 360, every_s: 5, timeout_s: 10}   # a cold JIT cache takes up to 30 minutes",
    "# What proves a release: clean agent sessions, 80 at once, and the speed before and after. Both load the host for minutes.",
    "traffic: live   # a deploy or verify loads it only with --load; `none`, where nobody else is served: always",
    "validations:",
    "  - {name: final80, sessions: 80, rounds: 3, ctx: 350, max_tokens: 2000, timeout_s: 260}",
    "  - {name: final60, sessions: 60, rounds: 4, ctx: 300, max_tokens: 2500, timeout_s: 240}",
    "bench: {concurrency: [1, 8, 32, 64, 80], input_tokens: 350, output_tokens: 256, repeats: 5, max_regression: 0.10}",
)


def adopt_text(
    name: str,
    *,
    ssh: SshTarget,
    units: Sequence[Unit],
    environments: Mapping[str, Mapping[str, str]],
    model: str | None,
    today: datetime.date,
    notes: Mapping[str, str] | None = None,
    state_dir: str | None = None,
    spare: Mapping[str, str] | None = None,
    kept: str | None = None,
) -> str:
    """The text of hosts/<name>.yml declaring what is there; `load` accepts it as it is.

    `environments` maps role → variable → value for the units with a script, only of the variables that should be
    declared. A variable set for several roles is declared once; where the values differ, the last role's is declared
    and the others are told in a comment. `notes` are a ledger's words on a variable, put beside it. Without a unit that
    has a url the last one gets a guess, and so does an unknown `model`; both say so. With a `state_dir` the units are the login
    user's own. `spare` maps a role to a script it has and need not declare. What proves a release is declared, and that nothing
    loads the host unasked: whether it has live traffic is not to be seen.
    """
    scripted = [unit.role for unit in units if unit.script]
    lines = (
        f"# {one_line(name)} as it was found on {today}. Give every flag its reason and an owner, a diagnostic an expiry,",
        f"# and what should go `absent: true`. {shipped.shown('hosts/example.yml')} is the manual;"
        f" `{shipped.command()} hosts.check` reads this file.",
        *_ssh(ssh),
        *_state(state_dir, kept),
        *_units(units, spare or {}),
        f"model: {_text(model or 'unknown')}{'' if model else '   # FILL IN: the served model name'}",
        *_flags(_by_name(environments, scripted), scripted, today, notes or {}),
        *_MEASURES,
    )
    return "\n".join(lines) + "\n"


def roles(unit_names: Iterable[str]) -> dict[str, str]:
    """A role for each unit name: its last word (`sglang-dsv4-decode.service`: decode), the whole stem where two share it."""
    stems = {
        unit: re.sub(r"[^a-z0-9]+", "-", unit.removesuffix(".service").lower()).strip("-")
        for unit in unit_names
    }
    lasts = {unit: stem.rpartition("-")[2] for unit, stem in stems.items()}
    shared = {last for last in lasts.values() if list(lasts.values()).count(last) > 1}
    chosen = {unit: stems[unit] if last in shared else last for unit, last in lasts.items()}
    return {unit: role if re.match(r"[a-z]", role) else f"unit-{role}" for unit, role in chosen.items()}


def _state(state_dir: str | None, kept: str | None) -> Iterator[str]:
    """Whose units these are, and where their state is kept on the host: where it is already, so that it has one lock."""
    if state_dir:
        yield "scope: user   # systemctl --user"
    root, service = kept.rsplit("/", 1) if kept else (state_dir or _USUAL, None)
    if service:
        yield f"service: {_text(service)}   # as the host file by which releases were made here: one state, one lock"
    if root != _USUAL or state_dir:
        yield f"state_dir: {_text(root)}"


def _ssh(ssh: SshTarget) -> Iterator[str]:
    fields = {
        "user": ssh.user,
        "port": ssh.port,
        "key": ssh.key,
        "known_hosts": ssh.known_hosts,
        "config": ssh.config,
    }
    given = {field: value for field, value in fields.items() if value is not None}
    if not given:
        yield f"ssh: {_text(ssh.address)}"
        return
    yield "ssh:"
    yield f"  address: {_text(ssh.address)}"
    yield from (
        f"  {field}: {value if isinstance(value, int) else _text(value)}" for field, value in given.items()
    )


def _units(units: Sequence[Unit], spare: Mapping[str, str]) -> Iterator[str]:
    yield "units:   # in start order"
    guesses = () if any(unit.url for unit in units) else units[-1:]
    for unit in units:
        yield f"  {unit.role}:"
        yield f"    unit: {_text(unit.name)}"
        fields = {"script": unit.script, "health": unit.health, "url": unit.url}
        if unit.role in spare:
            yield f"    # script: {_text(spare[unit.role])}   # sets no flag; declared, flags without `units` go there, too"
        yield from (f"    {field}: {_text(value)}" for field, value in fields.items() if value)
        files = {"env_files": unit.env_files, "drop_ins": unit.drop_ins, "sourced": unit.sourced}
        for key, paths in files.items():
            if paths:
                yield f"    {key}: [{', '.join(map(_text, paths))}]   # flags that stand here stay here"
        if unit in guesses:
            yield '    url: "http://127.0.0.1:30000"   # FILL IN: where chat is answered'


def _by_name(
    environments: Mapping[str, Mapping[str, str]], scripted: Sequence[str]
) -> dict[str, dict[str, str]]:
    """Variable → role → value, names sorted, roles in start order."""
    names = sorted({name for role in scripted for name in environments.get(role, {})})
    return {
        name: {role: environments[role][name] for role in scripted if name in environments.get(role, {})}
        for name in names
    }


def _flags(
    found: Mapping[str, Mapping[str, str]],
    scripted: Sequence[str],
    today: datetime.date,
    notes: Mapping[str, str],
) -> Iterator[str]:
    yield "flags:" if any(_declarable(values) for values in found.values()) else "flags: {}"
    for name, values in found.items():
        declared = _declarable(values)
        if declared:
            yield from _flag(name, declared, scripted, today, notes.get(name))
        left_out = [role for role in values if role not in declared]
        if left_out:
            reason = "has another value; one file gives a name one value" if declared else "is not shown here"
            yield f"  # {name} on {', '.join(left_out)} {reason}"


def _declarable(values: Mapping[str, str]) -> dict[str, str]:
    """The roles that share the last role's value; none when that is masked or is no single line."""
    last = list(values.values())[-1]
    if last == _MASKED or not _LOADABLE.fullmatch(last) or _is_surrogate(last):
        return {}
    return {role: value for role, value in values.items() if value == last}


def _flag(
    name: str, values: Mapping[str, str], scripted: Sequence[str], today: datetime.date, note: str | None
) -> Iterator[str]:
    yield f"  {name}:{f'   # {one_line(note)}' if note else ''}"
    yield f"    value: {_text(next(iter(values.values())))}"
    if list(values) != list(scripted):
        yield f"    units: [{', '.join(values)}]"
    yield f"    why: {_text(f'found running on {today}; FILL IN why')}"
    yield f"    since: {today}"


def _is_surrogate(text: str) -> bool:
    return any("\ud800" <= letter <= "\udfff" for letter in text)


def _text(text: str) -> str:
    """A double-quoted scalar; JSON's is YAML's once what YAML does not print is escaped."""
    quoted = json.dumps(text, ensure_ascii=False)
    return re.sub(r"[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]", lambda odd: f"\\u{ord(odd[0]):04x}", quoted)
