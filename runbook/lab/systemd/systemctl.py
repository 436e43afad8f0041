"""`systemctl` for the lab's units: the verbs a rollout and a person at the keyboard use, with systemd's exit codes."""

from __future__ import annotations

import asyncio
import getopt
import re
import signal
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from runbook.lab.systemd.answer import Answer
from runbook.lab.systemd.journal import Journal, Query
from runbook.lab.systemd.journal import render as render_record
from runbook.lab.systemd.show import properties_of, render
from runbook.lab.systemd.units import Units, start_order

if TYPE_CHECKING:
    from collections.abc import Sequence

    from runbook.lab.systemd.service import Service, Verb
    from runbook.lab.systemd.unitfile import UnitFile

_SHORT = "p:s:n:o:laq"
_LONG = [
    "property=",
    "signal=",
    "lines=",
    "output=",
    "kill-who=",
    "kill-whom=",
    "value",
    "no-block",
    "all",
    "quiet",
]
_LONG += ["no-pager", "full", "no-ask-password", "no-legend", "system", "user"]
_DOTS = {"inactive": "○", "failed": "×"}
_NEED_UNITS = {"start", "stop", "restart", "is-active", "is-failed", "kill", "cat"}
_UNIT_NAME = re.compile(r"[A-Za-z0-9:_.\\@-]{1,255}")
# What systemctl says where no manager of the user's runs; the lab has the machine's units alone.
_NO_MANAGER = "Failed to connect to bus: No such file or directory\n"
_NOT_RUNNING, _NO_SUCH_UNIT, _NOT_FOUND = 3, 4, 5


@dataclass(frozen=True, slots=True)
class Request:
    """A command line, taken apart. `options` holds the last value of each, under its long name."""

    verb: str
    units: tuple[str, ...]
    properties: tuple[str, ...]
    options: dict[str, str]


def parse(argv: Sequence[str]) -> Request:
    """Take a command line apart; ValueError, with systemctl's words, for what the lab does not know."""
    try:
        pairs, words = getopt.gnu_getopt(list(argv), _SHORT, _LONG)
    except getopt.GetoptError as error:
        raise ValueError(f"systemctl: {error.msg}") from error
    long_names = {"-p": "property", "-s": "signal", "-n": "lines", "-o": "output", "-a": "all", "-q": "quiet"}
    options = [(long_names.get(name, name.lstrip("-")), value) for name, value in pairs]
    verb, *units = words or ["list-units"]
    if not units and verb in _NEED_UNITS:
        raise ValueError("Too few arguments.")
    properties = (one for name, value in options if name == "property" for one in value.split(","))
    return Request(verb, tuple(map(unit_name, units)), tuple(properties), dict(options))


def unit_name(word: str) -> str:
    """The full name of a unit; ValueError for what cannot be one."""
    if not _UNIT_NAME.fullmatch(word):
        raise ValueError(f"Invalid unit name '{word}'.")
    return word if "." in word else f"{word}.service"


async def answer(units: Units, journal: Journal, argv: Sequence[str]) -> Answer:
    """Do what a command line asks of the units."""
    try:
        request = parse(argv)
    except ValueError as error:
        return Answer(err=f"{error}\n", code=1)
    if "user" in request.options:
        return Answer(err=_NO_MANAGER, code=1)
    if request.verb in ("start", "stop", "restart"):
        return await _jobs(units, request, request.verb)  # type: ignore[arg-type]
    if request.verb == "status":
        return _status(units, journal, request)
    verbs = {
        "show": _show,
        "show-environment": _show_environment,
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
    refused = {name: no for name in request.units if (no := _refusal(units.get(name).unit, verb))}
    known = (units.get(name).unit for name in request.units if name not in refused)
    tasks = {name: asyncio.ensure_future(units.ask(name, verb)) for name in start_order(known)}
    said = [*refused.values()]
    if "no-block" in request.options:
        await asyncio.sleep(0)  # the jobs are begun before the answer goes out
    else:
        await asyncio.gather(*tasks.values())
        said += [
            _failure(units, name, task.result()) for name, task in tasks.items() if task.result() != "done"
        ]
    return Answer(err="".join(one.err for one in said), code=max((one.code for one in said), default=0))


def _refusal(unit: UnitFile, verb: Verb) -> Answer | None:
    """Why no job can be had of a unit."""
    name = unit.name
    if unit.load_state == "loaded" or (unit.load_state == "masked" and verb == "stop"):
        return None
    if unit.load_state == "not-found":
        known = "loaded" if verb == "stop" else "found"
        return Answer(err=f"Failed to {verb} {name}: Unit {name} not {known}.\n", code=_NOT_FOUND)
    why = "is masked." if unit.load_state == "masked" else f"has a bad unit file setting: {unit.problem}"
    return Answer(err=f"Failed to {verb} {name}: Unit {name} {why}\n", code=1)


def _failure(units: Units, name: str, result: str) -> Answer:
    if result == "canceled":
        return Answer(err=f"Job for {name} canceled.\n", code=1)
    why = {
        "start-limit-hit": "start of the service was attempted too often",
        "timeout": "a timeout was exceeded",
        "signal": "a fatal signal was delivered to the control process",
    }.get(units.get(name).result, "the control process exited with error code")
    see = f'See "systemctl status {name}" and "journalctl -xeu {name}" for details.'
    return Answer(err=f"Job for {name} failed because {why}.\n{see}\n", code=1)


# ------------------------------------------------------------------ questions


def _show(units: Units, request: Request) -> Answer:
    blocks = [
        render(
            properties_of(units.get(name), stale=units.stale(name)),
            request.properties,
            value_only="value" in request.options,
            empty="all" in request.options,
        )
        for name in request.units
    ]
    return Answer("\n".join(blocks))


def _show_environment(units: Units, request: Request) -> Answer:
    return Answer("".join(f"{name}={value}\n" for name, value in sorted(units.environ.items())))


def _is_active(units: Units, request: Request) -> Answer:
    states = [units.get(name).active for name in request.units]
    return Answer("".join(f"{state}\n" for state in states), code=0 if "active" in states else _NOT_RUNNING)


def _is_failed(units: Units, request: Request) -> Answer:
    states = [units.get(name).active for name in request.units]
    return Answer("".join(f"{state}\n" for state in states), code=0 if "failed" in states else 1)


def _status(units: Units, journal: Journal, request: Request) -> Answer:
    """What a person reads, with the last ten lines of the journal; nothing parses it."""
    known = [
        name for name in request.units or units.names() if units.get(name).unit.load_state != "not-found"
    ]
    missing = [name for name in request.units if name not in known]
    blocks = [_status_of(units.get(name), journal) for name in known]
    err = "".join(f"Unit {name} could not be found.\n" for name in missing)
    down = any(units.get(name).active != "active" for name in known)
    return Answer("\n".join(blocks), err, _NO_SUCH_UNIT if missing else _NOT_RUNNING if down else 0)


def _status_of(service: Service, journal: Journal) -> str:
    shown = properties_of(service, stale=False)
    why = "" if service.result == "success" else f" (Result: {service.result})"
    since = f" since {shown['StateChangeTimestamp']}" if shown["StateChangeTimestamp"] else ""
    lines = [
        f"{_DOTS.get(service.active, '●')} {service.unit.title}",
        f"     Loaded: {service.unit.load_state} ({service.unit.fragment}; {shown['UnitFileState']})",
        f"     Active: {service.active} ({service.sub}){why}{since}",
        *([f"   Main PID: {service.main_pid}"] if service.main_pid else []),
        "",
        *(render_record(record) for record in journal.read(Query((service.unit.name,), 10))),
    ]
    return "".join(f"{line}\n" for line in lines)


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
    whom = request.options.get("kill-whom", request.options.get("kill-who"))
    who = "main" if whom == "main" else "all"
    missed = [unit for unit in request.units if not units.kill(unit, number, who)]
    err = "".join(f"Failed to kill unit {unit}: Unit {unit} not loaded.\n" for unit in missed)
    return Answer(err=err, code=1 if missed else 0)
