"""`systemctl` for the lab's units: the verbs a rollout and a person at the keyboard use, with systemd's exit codes."""

from __future__ import annotations

import asyncio
import re
import signal
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from runbook.lab.systemd.answer import Answer
from runbook.lab.systemd.show import properties_of, render
from runbook.lab.systemd.units import Units, start_order

if TYPE_CHECKING:
    from collections.abc import Sequence

    from runbook.lab.systemd.service import Verb

_IGNORED = {
    "--no-pager",
    "--full",
    "-l",
    "--quiet",
    "-q",
    "--no-ask-password",
    "--system",
    "--no-legend",
    "--all",
    "-a",
}
_VALUED = {"-p": "property", "--property": "property", "-s": "signal", "--signal": "signal"}
_VALUED |= {
    "--kill-who": "whom",
    "--kill-whom": "whom",
    "-n": "lines",
    "--lines": "lines",
    "-o": "out",
    "--output": "out",
}
_UNIT_NAME = re.compile(r"[A-Za-z0-9:_.\\@-]{1,255}")
_NOT_RUNNING, _NOT_FOUND = 3, 5


@dataclass(frozen=True, slots=True)
class Request:
    """A command line, taken apart."""

    verb: str
    units: tuple[str, ...] = ()
    properties: tuple[str, ...] = ()
    value_only: bool = False
    block: bool = True
    options: dict[str, str] = field(default_factory=dict)


def parse(argv: Sequence[str]) -> Request:
    """Take a command line apart; ValueError, with systemctl's words, for what the lab does not know."""
    words, properties, options, flags = [], [], {}, set()
    rest = list(argv)
    while rest:
        word = rest.pop(0)
        if word == "--":
            words += rest
            break
        name, glued, value = word.partition("=") if word.startswith("--") else (word[:2], word[2:], word[2:])
        if not word.startswith("-"):
            words.append(word)
        elif name in _VALUED:
            value = value if glued else (rest.pop(0) if rest else "")
            options[_VALUED[name]] = value
            properties += value.split(",") if _VALUED[name] == "property" else []
        elif word in _IGNORED | {"--no-block", "--value"}:
            flags.add(word)
        else:
            raise ValueError(f"unrecognized option '{word}'")
    verb, *units = words or ["list-units"]
    full = tuple(unit if "." in unit else f"{unit}.service" for unit in units)
    for unit in full:
        if not _UNIT_NAME.fullmatch(unit):
            raise ValueError(f"Invalid unit name '{unit}'.")
    return Request(verb, full, tuple(properties), "--value" in flags, "--no-block" not in flags, options)


async def answer(units: Units, argv: Sequence[str]) -> Answer:
    """Do what a command line asks of the units."""
    try:
        request = parse(argv)
    except ValueError as error:
        return Answer(err=f"systemctl: {error}\n", code=1)
    if request.verb in ("start", "stop", "restart"):
        return await _jobs(units, request, request.verb)  # type: ignore[arg-type]
    verbs = {
        "show": _show,
        "is-active": _is_active,
        "is-failed": _is_failed,
        "daemon-reload": _daemon_reload,
        "reset-failed": _reset_failed,
        "kill": _kill,
        "cat": _cat,
        "list-units": _list,
    }
    if request.verb not in verbs:
        return Answer(err=f"Unknown command verb {request.verb}.\n", code=1)
    return verbs[request.verb](units, request)


# ------------------------------------------------------------------ jobs


async def _jobs(units: Units, request: Request, verb: Verb) -> Answer:
    refused = [line for name in request.units if (line := _refusal(units, name, verb))]
    known = [units.get(name).unit for name in request.units if not _refusal(units, name, verb)]
    tasks = {name: asyncio.ensure_future(units.ask(name, verb)) for name in start_order(known)}
    if not request.block:
        await asyncio.sleep(0)
        return Answer(err="".join(refused), code=_NOT_FOUND if refused else 0)
    results = dict(zip(tasks, await asyncio.gather(*tasks.values()), strict=True))
    failed = [_job_message(units, name, result) for name, result in results.items() if result != "done"]
    code = _NOT_FOUND if refused else 1 if failed else 0
    return Answer(err="".join([*refused, *failed]), code=code)


def _refusal(units: Units, name: str, verb: Verb) -> str:
    unit = units.get(name).unit
    if unit.load_state == "loaded":
        return ""
    if unit.load_state == "masked":
        return "" if verb == "stop" else f"Failed to {verb} {name}: Unit {name} is masked.\n"
    if unit.load_state == "not-found":
        return f"Failed to {verb} {name}: Unit {name} not {'loaded' if verb == 'stop' else 'found'}.\n"
    return f"Failed to {verb} {name}: Unit {name} has a bad unit file setting: {unit.problem}\n"


def _job_message(units: Units, name: str, result: str) -> str:
    if result == "canceled":
        return f"Job for {name} canceled.\n"
    why = {
        "start-limit-hit": "start of the service was attempted too often",
        "timeout": "a timeout was exceeded",
        "signal": "a fatal signal was delivered to the control process",
    }.get(units.get(name).result, "the control process exited with error code")
    return f'Job for {name} failed because {why}.\nSee "systemctl status {name}" and "journalctl -xeu {name}" for details.\n'


# ------------------------------------------------------------------ questions


def _show(units: Units, request: Request) -> Answer:
    blocks = [
        render(
            properties_of(units.get(name), stale=units.stale(name)),
            request.properties,
            value_only=request.value_only,
        )
        for name in request.units
    ]
    return Answer("\n".join(blocks))


def _is_active(units: Units, request: Request) -> Answer:
    states = [units.get(name).active for name in request.units]
    return Answer("".join(f"{state}\n" for state in states), code=0 if "active" in states else _NOT_RUNNING)


def _is_failed(units: Units, request: Request) -> Answer:
    states = [units.get(name).active for name in request.units]
    return Answer("".join(f"{state}\n" for state in states), code=0 if "failed" in states else 1)


def _list(units: Units, request: Request) -> Answer:
    rows = [(name, units.get(name)) for name in request.units or units.names()]
    return Answer(
        "".join(f"{n} {s.unit.load_state} {s.active} {s.sub} {s.unit.description}\n" for n, s in rows)
    )


def _cat(units: Units, request: Request) -> Answer:
    found = [unit for name in request.units if (unit := units.get(name).unit).fragment]
    missing = [name for name in request.units if not units.get(name).unit.fragment]
    paths = [path for unit in found for path in (unit.fragment, *unit.dropins)]
    texts = [f"# {path}\n{Path(path).read_text('utf-8', 'replace')}" for path in paths if Path(path).exists()]
    err = "".join(f"No files found for {name}.\n" for name in missing)
    return Answer("\n".join(texts), err, 1 if missing else 0)


# ------------------------------------------------------------------ small deeds


def _daemon_reload(units: Units, request: Request) -> Answer:
    units.reload()
    return Answer()


def _reset_failed(units: Units, request: Request) -> Answer:
    missing = [name for name in request.units if units.get(name).unit.load_state == "not-found"]
    for name in request.units or units.names():
        units.reset_failed(name)
    err = "".join(
        f"Failed to reset failed state of unit {name}: Unit {name} not loaded.\n" for name in missing
    )
    return Answer(err=err, code=1 if missing else 0)


def _kill(units: Units, request: Request) -> Answer:
    name = request.options.get("signal", "TERM").upper().removeprefix("SIG")
    number = int(name) if name.isdigit() else getattr(signal, f"SIG{name}", None)
    if number is None:
        return Answer(err=f"Failed to parse signal string {name}.\n", code=1)
    who = "main" if request.options.get("whom") == "main" else "all"
    missed = [unit for unit in request.units if not units.kill(unit, number, who)]
    err = "".join(f"Failed to kill unit {unit}: Unit {unit} is not running.\n" for unit in missed)
    return Answer(err=err, code=1 if missed else 0)
