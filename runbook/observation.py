"""One look at the host: what the helper's `observe` answered, as values."""

from __future__ import annotations

import base64
import datetime
from typing import TYPE_CHECKING, Any

from runbook.errors import MissingOnHostError, PreflightError
from runbook.model import FileRecord, FileState, Observation, Processes, Release, UnitState
from runbook.places.names import PATTERNS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from runbook.model import Host
    from runbook.ssh import Wire

_RECORD = ("path", "sha256", "mode", "uid", "gid", "link", "xattrs")
# What a listing tells of a validation.
_RUN = {"name", "corrupt", "sessions", "upper_95"}


def observe(wire: Wire, host: Host, also: Sequence[str] = ()) -> Observation:
    """Ask the helper once for everything a plan, a verify or a status needs; reads only. `also` are further files."""
    return parse(wire.call("observe", **question(host, also)))


def question(host: Host, also: Sequence[str] = ()) -> dict[str, Any]:
    """The arguments of that one call."""
    return {
        "state": host.state,
        "files": list(dict.fromkeys((*host.files, *also))),
        "units": [unit.name for unit in host.units],
        "names": sorted({flag.name for flag in host.flags}),
        "patterns": list(PATTERNS),
    }


def read_file(wire: Wire, host: Host, path: str) -> FileState:
    """One file of the host, by a look at nothing else."""
    answer = wire.call("observe", state=host.state, files=[path], units=[], names=[], patterns=[])
    return _file(path, answer["files"][path])


def parse(answer: Mapping[str, Any]) -> Observation:
    """The helper's answer (docs/architecture.md, "The wire") as an Observation."""
    state, disk = answer["state"], answer["disk"]
    releases, damaged = _releases(state)
    return Observation(
        facts=answer["facts"],
        files={path: _file(path, found) for path, found in answer["files"].items()},
        units={name: _unit(name, found) for name, found in answer["units"].items()},
        releases=releases,
        current=state["current"],
        inflight=state["inflight"],
        lock_holder=state["lock"],
        free_bytes=disk["free_bytes"],
        free_inodes=disk["free_inodes"],
        read_only=tuple(disk["read_only"]),
        now=answer["now"],
        feeds={path: _file(path, found) for path, found in answer["feeds"].items()},
        manager=answer["manager"]["environ"],
        manager_error=answer["manager"]["error"],
        damaged=damaged,
        set_once=set_once(releases),
        near={name: tuple(meant) for name, meant in (answer.get("near") or {}).items()},
        beside=tuple(state.get("beside") or ()),
        audit_bytes=state.get("audit_bytes") or 0,
    )


def _releases(state: Mapping[str, Any]) -> tuple[tuple[Release, ...], tuple[str, ...]]:
    """The releases that can be read, and the names of what cannot: one damaged release must not hide the others."""
    whole, damaged = [], [str(name) for name in state.get("damaged") or ()]
    for manifest in state["releases"]:
        try:
            whole.append(release(manifest))
        except (KeyError, TypeError, ValueError, AttributeError):
            damaged.append(str(manifest.get("id")))
    return tuple(whole), tuple(damaged)


def set_once(releases: Iterable[Release]) -> dict[str, tuple[str, ...]]:
    """By role, every variable that one of these releases gives it."""
    found: dict[str, set[str]] = {}
    for one in releases:
        for role, environment in one.flags.items():
            found.setdefault(role, set()).update(
                name for name, value in environment.items() if value is not None
            )
    return {role: tuple(sorted(names)) for role, names in sorted(found.items())}


def _file(path: str, found: Mapping[str, Any]) -> FileState:
    return FileState(
        path=path,
        real_path=found.get("real_path") or path,
        content=base64.b64decode(found["b64"]) if found.get("b64") is not None else None,
        mode=found.get("mode") or 0o644,
        uid=found.get("uid") or 0,
        gid=found.get("gid") or 0,
        ctime_ns=found.get("ctime_ns") or 0,
        error=found.get("error"),
        denied=bool(found.get("denied")),
    )


def _unit(name: str, found: Mapping[str, Any]) -> UnitState:
    seen = found["processes"]
    processes = Processes(
        kind=seen["kind"],
        environ=seen.get("environ") or {},
        pid=seen.get("pid") or 0,
        started_at=seen.get("started_at") or 0.0,
        detail=seen.get("detail") or "",
        argv=tuple(seen.get("argv") or ()),
    )
    return UnitState(name, found["properties"], processes)


def release(manifest: Mapping[str, Any]) -> Release:
    """A release's manifest as a value. What a later version added is left out; what is missing or no figure is an error."""
    datetime.datetime.fromisoformat(manifest["created"]).timestamp()
    runs = [run for run in manifest.get("validations") or () if run.keys() >= _RUN]
    bench = manifest.get("bench")
    _require_tellable([manifest["verdict"], manifest.get("parent") or ""], runs, bench or {})
    return Release(
        id=manifest["id"],
        created=manifest["created"],
        parent=manifest.get("parent"),
        verdict=manifest["verdict"],
        files=tuple(_record(record) for record in manifest["files"]),
        flags={role: dict(environment) for role, environment in (manifest.get("flags") or {}).items()},
        rollout=manifest.get("rollout") or "",
        validations=tuple(runs),
        bench=None if bench is None else {**bench},
        engine={**(manifest.get("engine") or {})},
        by_hand=tuple(map(str, manifest.get("by_hand") or ())),
        unfinished=manifest.get("unfinished") is True,
    )


def _require_tellable(
    texts: Sequence[Any], runs: Sequence[Mapping[str, Any]], bench: Mapping[str, Any]
) -> None:
    """Raise TypeError unless a listing can tell of these fields: a manifest may have been edited by hand."""
    figures = [run["upper_95"] for run in runs if run["upper_95"] is not None]
    for level in bench.get("levels") or ():
        figures += [*(level.get("output_tok_s") or ()), level.get("concurrency") or 0]
    named = [*texts, *(run["name"] for run in runs)]
    if not all(isinstance(text, str) for text in named):
        raise TypeError(f"one of {named} is no text")
    if not all(isinstance(figure, int | float) for figure in figures):
        raise TypeError(f"one of {figures} is no figure")


def _record(record: Mapping[str, Any]) -> FileRecord:
    return FileRecord(**{name: record[name] for name in _RECORD if name in record})


def require_units(host: Host, seen: Observation) -> None:
    """Raise MissingOnHostError unless every unit is there."""
    missing = [unit.name for unit in host.units if not seen.units[unit.name].exists]
    _refuse_missing(host, [f"unit {name}{meant(seen, name)}" for name in missing])


def require_scripts(host: Host, seen: Observation) -> None:
    """Raise MissingOnHostError unless every script is there, PreflightError unless it can be read."""
    require_readable(host, seen)
    missing = [path for path in host.scripts if seen.files[path].absent]
    _refuse_missing(host, [f"script {path}{meant(seen, path)}" for path in missing])
    unread = [f"{path}: {why}" for path in host.scripts if (why := seen.files[path].error)]
    if unread:
        raise PreflightError(
            f"{host.name}: there, but no script to read: {'; '.join(unread)}; nothing was changed"
        )


def require_readable(host: Host, seen: Observation) -> None:
    """Raise PreflightError where the login may not read one of the host's files: of such a file nothing is known."""
    if paths := denied(seen, host.files):
        raise PreflightError(f"{host.name}: {not_readable(host, seen, paths)}; nothing was changed")


def denied(seen: Observation, paths: Iterable[str]) -> list[str]:
    """Those of the paths that the login may not read, whether there is a file or not."""
    return [path for path in paths if path in seen.files and seen.files[path].denied]


def not_readable(host: Host, seen: Observation, what: Sequence[str]) -> str:
    """That the login may not read these, and what in the host file helps."""
    who = seen.facts.get("user") or "the login"
    helps = "" if host.become or host.scope == "user" else f"; set `become: true` in {host.source}"
    return f"not readable as {who}: {', '.join(what)}{helps}"


def meant(seen: Observation, name: str) -> str:
    """What of the host has almost the name of a unit or file that is not there, in brackets."""
    near = seen.near.get(name)
    return f" (did you mean {' or '.join(near)}?)" if near else ""


def _refuse_missing(host: Host, missing: Sequence[str]) -> None:
    if missing:
        raise MissingOnHostError(f"{host.name}: not on the host: {', '.join(missing)}; nothing was changed")
