"""A host in memory: files, units whose processes keep the environment they were started with, releases, audit, jobs.

It answers the calls a rollout makes with the shapes of docs/architecture.md, and can be told to misbehave: `crash`,
`unhealthy`, `corrupt`. `chat` answers instead of the endpoint, `pages` are what else it serves, `ran` the programs that
calls say they ran, `closed` what the login may not read, `near` what has almost the name of what is not there. Time
passes only when somebody sleeps.
"""

from __future__ import annotations

import base64
import datetime
import hashlib
import itertools
import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from runbook import edits
from runbook.edits import dropin, env_file
from runbook.errors import FileChangedError, HelperError, LockedError
from runbook.load.statistics import upper_bound
from runbook.onhost import audit, inflight, pruning
from runbook.tunnel import Response, TunnelRefused
from tests.building import TOPK, host, script

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from runbook.model import Host, Unit
    from runbook.ssh.row import Asked

START = 1_700_000_000.0


@dataclass
class Clock:
    now: float = 0.0

    def __call__(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds

    def utc(self) -> datetime.datetime:
        return datetime.datetime.fromtimestamp(START + self.now, datetime.UTC)


@dataclass
class RunningUnit:
    """A unit as the fake host runs it."""

    unit: Unit
    environ: dict[str, str]
    pid: int
    started: float = 0.0
    active: str = "active"
    restarts: int = 0
    drop_ins: tuple[str, ...] = ()
    env_files: tuple[str, ...] = ()
    loaded: dict[str, str] = field(default_factory=dict)

    def properties(self) -> dict[str, str]:
        sub = {"active": "running", "failed": "failed", "inactive": "dead"}[self.active]
        pid = self.pid if self.active == "active" else 0
        return {
            "LoadState": "loaded", "ActiveState": self.active, "SubState": sub, "MainPID": str(pid),
            "NRestarts": str(self.restarts), "NeedDaemonReload": "no", "Result": "exit-code" if sub == "failed" else "success",
            "DropInPaths": " ".join(self.drop_ins),
            "EnvironmentFiles": "\n".join(f"{path} (ignore_errors=no)" for path in self.env_files),
        }  # fmt: skip


@dataclass
class FakeHost:
    """See the module. `behave` is asked after each restart and may change the unit; `load` gives a job's result: of a
    command its lines and exit.
    """

    host: Host = field(default_factory=host)
    clock: Clock = field(default_factory=Clock)
    files: dict[str, bytes] = field(default_factory=dict)
    behave: Callable[[RunningUnit], None] = lambda unit: None
    load: Callable[[list[str]], dict[str, Any]] | None = None
    mode: str = "writing"
    calls: list[str] = field(default_factory=list)
    ahead: tuple[Asked, ...] = ()
    used_ahead: bool | None = None
    releases: dict[str, dict[str, Any]] = field(default_factory=dict)
    stored: dict[str, dict[str, bytes | None]] = field(default_factory=dict)
    kept: dict[str, list[str]] = field(default_factory=lambda: {"mended": [], "damaged": []})
    current: str | None = None
    inflight: Any = None
    lock: Any = None
    beside: list[dict[str, Any]] = field(default_factory=list)
    audit: list[dict[str, Any]] = field(default_factory=list)
    jobs: dict[str, list[str]] = field(default_factory=dict)
    drop_ins: dict[str, tuple[str, ...]] = field(default_factory=dict)
    env_files: dict[str, tuple[str, ...]] = field(default_factory=dict)
    exec_starts: dict[str, str] = field(default_factory=dict)
    chat: Callable[[], Response] | None = None
    pages: dict[str, bytes] = field(default_factory=dict)
    listeners: dict[int, list[dict[str, Any]]] = field(default_factory=dict)
    gpus: dict[str, Any] = field(
        default_factory=lambda: {"gpus": [], "processes": [], "detail": "no nvidia-smi"}
    )
    engine: dict[str, dict[str, Any]] = field(default_factory=dict)
    xids: list[str] = field(default_factory=list)
    ran: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    python: str = "3.11.2"
    closed: set[str] = field(default_factory=set)
    near: dict[str, list[str]] = field(default_factory=dict)
    log: str = "Main process exited, code=exited, status=1/FAILURE"

    def __post_init__(self) -> None:
        self.files = dict.fromkeys(self.host.scripts, script(**{TOPK: "0"})) | self.files
        self.ctimes = dict.fromkeys(self.files, -100.0)
        self.units = {unit.name: self._started(unit, 100 + n) for n, unit in enumerate(self.host.units)}
        self._next_pid = 1000

    def _started(self, unit: Unit, pid: int) -> RunningUnit:
        drop_ins, env_files = self.drop_ins.get(unit.role, ()), self.env_files.get(unit.role, ())
        running = RunningUnit(unit, {}, pid, drop_ins=drop_ins, env_files=env_files)
        running.loaded = self._load(running)
        running.environ = self._environ(running)
        return running

    def _load(self, unit: RunningUnit) -> dict[str, str]:
        """What systemd takes from the drop-ins when it reads them: at a daemon-reload, not at a start."""
        found = [dropin.read(self.files[path].decode()).values for path in unit.drop_ins]
        return {name: value for values in found for name, value in values.items() if value is not None}

    def _environ(self, unit: RunningUnit) -> dict[str, str]:
        """Drop-ins as they were loaded, environment files as they are, then the script."""
        environ = dict(unit.loaded)
        for path in unit.env_files:
            environ |= env_file.read(self.files[path].decode()).values
        if unit.unit.script is not None:
            read = edits.named(edits.script_kind(unit.unit.script)).read
            values = read(self.files[unit.unit.script].decode()).values
            environ |= {name: value for name, value in values.items() if value is not None}
        return environ

    # -------------------------------------------------------------- the wire

    def call(self, name: str, /, *, deadline_s: float = 60.0, **args: Any) -> Any:
        self.calls.append(name)
        if self.ahead:
            self.used_ahead = self.ahead[0] == (name, args)
            self.ahead = ()
        return json.loads(json.dumps(getattr(self, f"_{name}")(**args)))

    def answer(self, name: str, /, *, deadline_s: float = 60.0, **args: Any) -> dict[str, Any]:
        return {"ok": self.call(name, deadline_s=deadline_s, **args), "ran": self.ran.get(name, [])}

    def ask_ahead(self, *row: Asked) -> None:
        """Kept to tell whether it was asked for: what another call comes before was asked for nothing."""
        self.ahead = row

    def _several(self, calls: list[dict[str, Any]]) -> list[dict[str, Any]]:
        return [{**self.answer(one["call"], **one["args"]), "took_s": 0.0} for one in calls]

    def _observe(self, files: list[str], units: list[str], **_: Any) -> dict[str, Any]:
        return {
            "facts": {"hostname": "gpu1", "python": self.python, "user": "ann"},
            "now": START + self.clock.now,
            "files": {path: self._file(path) for path in files},
            "feeds": {path: self._file(path) for path in self._fed() if path not in files},
            "manager": {"environ": {}, "error": None},
            "near": self.near,
            "units": {name: self._unit(self.units[name]) for name in units},
            "disk": {"free_bytes": 1 << 40, "free_inodes": 1 << 20, "read_only": []},
            "state": {
                "current": self.current, "releases": list(self.releases.values()),
                "inflight": self.inflight, "lock": self.lock, "beside": self.beside,
                "audit_bytes": len(self.chain),
            },
        }  # fmt: skip

    def _fed(self) -> list[str]:
        return [path for unit in self.units.values() for path in (*unit.drop_ins, *unit.env_files)]

    def _file(self, path: str) -> dict[str, Any]:
        if path in self.closed:
            return {
                "exists": None,
                "real_path": path,
                "b64": None,
                "error": "Permission denied",
                "denied": True,
            }
        if path not in self.files:
            return {"exists": False, "real_path": path, "b64": None}
        content = base64.b64encode(self.files[path]).decode()
        ctime_ns = int((START + self.ctimes[path]) * 1e9)
        return {
            "exists": True,
            "real_path": path,
            "b64": content,
            "mode": 0o755,
            "uid": 0,
            "gid": 0,
            "ctime_ns": ctime_ns,
        }

    def _unit(self, unit: RunningUnit) -> dict[str, Any]:
        known = unit.unit.script is not None and unit.active == "active"
        processes = {
            "kind": "environ" if known else "unknown", "pid": unit.pid, "started_at": START + unit.started,
            "environ": unit.environ, "detail": "" if known else "blank environ",
        }  # fmt: skip
        return {"properties": unit.properties(), "processes": processes}

    def _units(self, units: list[str]) -> dict[str, Any]:
        return {name: self.units[name].properties() for name in units}

    def _serving(self, units: list[str], words: list[str]) -> dict[str, Any]:
        return {
            name: {"properties": {"ExecStart": self.exec_starts.get(self.units[name].unit.role, "")}, "script": None}
            for name in units
        }  # fmt: skip

    def _listening(self, ports: list[int]) -> dict[str, Any]:
        return {str(port): self.listeners.get(port, []) for port in ports}

    def _engine(self, units: list[str]) -> dict[str, Any]:
        empty: dict[str, Any] = {"packages": {}, "checkout": None, "program": None}
        return {name: self.engine.get(self.units[name].unit.role, empty) for name in units}

    def _xids(self) -> dict[str, Any]:
        return {"lines": self.xids, "count": len(self.xids), "detail": ""}

    def _gpus(self) -> dict[str, Any]:
        return self.gpus

    def _journal(self, unit: str, **_: Any) -> dict[str, str]:
        return {"text": f"{unit}: {self.log}"}

    def _lock(self, state: str, holder: Mapping[str, Any], **_: Any) -> dict[str, Any]:
        if self.lock:
            raise LockedError(f"held by {self.lock['who']}")
        self.lock = dict(holder)
        return {}

    def _lock_step(self, step: str) -> dict[str, Any]:
        self.lock["step"] = step
        return {}

    def _inflight(self, state: str, doc: Any) -> dict[str, Any]:
        same = doc and self.inflight and self.inflight["rollout"] == doc["rollout"]
        self.inflight = doc and {**doc, "steps": self.inflight["steps"] if same else []}
        return {}

    def _inflight_step(self, state: str, rollout: str, step: str, done: bool) -> dict[str, Any]:
        if self.inflight and self.inflight["rollout"] == rollout:
            steps = (inflight.ended if done else inflight.begun)(self.inflight["steps"], step, "now")
            self.inflight |= {"step": step, "steps": steps}
        return {}

    def _release_prune(self, state: str, keep: int) -> dict[str, Any]:
        back_to = (self.inflight or {}).get("parent")
        removed = pruning.surplus(list(self.releases.values()), keep, self.current, back_to)
        for name in removed:
            del self.releases[name], self.stored[name]
        return {"removed": removed}

    def _release_save(self, state: str, manifest: dict[str, Any], files: list[str]) -> dict[str, Any]:
        self.releases[manifest["id"]] = dict(manifest)
        self.stored[manifest["id"]] = {path: self.files.get(path) for path in files}
        return {"id": manifest["id"]}

    def _release_update(self, state: str, id: str, fields: dict[str, Any]) -> dict[str, Any]:
        self.releases[id] |= fields
        return {}

    def _release_mend(self, state: str, id: str) -> dict[str, Any]:
        return self.kept

    def _release_read(self, state: str, id: str) -> dict[str, Any]:
        files = {
            path: {"b64": None if content is None else base64.b64encode(content).decode()}
            for path, content in self.stored[id].items()
        }
        return {"manifest": self.releases[id], "files": files}

    def _set_current(self, state: str, id: str) -> dict[str, Any]:
        self.current = id
        return {}

    def _files_write(self, changes: list[dict[str, Any]]) -> dict[str, Any]:
        for change in changes:
            if self._digest(change["path"]) != change["before"]:
                raise FileChangedError(change["path"])
        for change in changes:
            self._put(change["path"], None if change["b64"] is None else base64.b64decode(change["b64"]))
        return {change["path"]: self._digest(change["path"]) for change in changes}

    def _digest(self, path: str) -> str | None:
        return hashlib.sha256(self.files[path]).hexdigest() if path in self.files else None

    def _put(self, path: str, content: bytes | None) -> None:
        self.ctimes[path] = self.clock.now
        if content is None:
            del self.files[path]
        else:
            self.files[path] = content

    def _daemon_reload(self) -> dict[str, Any]:
        for unit in self.units.values():
            unit.loaded = self._load(unit)
        return {}

    def _unit_restart(self, unit: str) -> dict[str, Any]:
        running = self.units[unit]
        before = running.pid if running.active == "active" else 0
        self._next_pid += 1
        running.pid, running.active, running.started = self._next_pid, "active", self.clock.now
        running.environ = self._environ(running)
        self.behave(running)
        return {"before": before, "at": START + self.clock.now, "after_boot_s": 1000.0 + self.clock.now}

    def _record_start(self, **_: Any) -> dict[str, Any]:
        return {}

    def _cache_has(self, **_: Any) -> bool:
        return True

    def _job_start(self, argv: list[str], **_: Any) -> dict[str, Any]:
        self.jobs["1"] = argv
        return {"job": "1", "pid": 4242}

    def _job_poll(self, job: str, wait_s: float) -> dict[str, Any]:
        if self.load is None:
            raise HelperError("this host runs no load")
        self.clock.sleep(1)
        result = self.load(self.jobs[job])
        if self.jobs[job][0] == "timeout":
            return {"stderr": "", **result}
        lines = [
            json.dumps({"event": "progress", "text": "1 of 2"}),
            "noise",
            json.dumps({"event": "result", "result": result}),
        ]
        return {"lines": lines, "stderr": "", "exit": 0}

    def _job_stop(self, **_: Any) -> dict[str, Any]:
        self.jobs.clear()
        return {"exit": -15}

    def _audit_read(self, state: str, offset: int = 0, sha256: str | None = None) -> dict[str, Any]:
        chain = self.chain
        same = hashlib.sha256(chain[:offset]).hexdigest() == sha256
        return {"size": len(chain), "same": same, "b64": base64.b64encode(chain[offset:]).decode()}

    @property
    def chain(self) -> bytes:
        """The audit records as the host's file holds them."""
        content = b""
        for record in self.audit:
            content += audit.canonical_line(audit.linked(record, audit.place(content)))
        return content

    def _audit_place(self, state: str) -> dict[str, Any]:
        return audit.place(self.chain)

    def _audit_append(
        self, state: str, record: dict[str, Any], expected: Any = None, once: bool = False
    ) -> dict[str, Any]:
        if once and any(known["id"] == record["id"] for known in self.audit):
            return {"known": True}
        self.audit.append(record)
        last = json.loads(self.chain.splitlines()[-1])
        return {"known": False, "seq": last["seq"], "hash": last["hash"], "journal": ""}

    def _machine(self, checkout: str | None = None) -> dict[str, Any]:
        return {"hostname": "gpu1", "kernel": "Linux 6.1", "gpus": [], "checkout": None}

    # -------------------------------------------------------------- the tunnel

    def get(self, url: str, *, deadline_s: float, headers: Mapping[str, str] | None = None) -> Response:
        if url in self.pages:
            return Response(200, self.pages[url], 0.01)
        unit = next((unit for unit in self.units.values() if unit.unit.health == url), None)
        if unit is None:
            return Response(404, b"no such page", 0.01)
        if unit.active != "active":
            raise TunnelRefused(f"{url}: connection refused")
        return Response(200, b"", 0.01)

    def post_json(
        self, url: str, body: Any, *, deadline_s: float, headers: Mapping[str, str] | None = None
    ) -> Response:
        if any(unit.active != "active" for unit in self.units.values()):
            return Response(503, b"no worker", 0.01)
        if self.chat is not None:
            return self.chat()
        return Response(200, json.dumps({"choices": [{"message": {"content": "ready"}}]}).encode(), 0.01)


def sessions_result(argv: list[str], *, corrupt: int = 0, infra: int = 0) -> dict[str, Any]:
    """A sessions document as `runbook.load repro` would print it for these arguments."""
    given = dict(itertools.pairwise(argv))
    sessions, good = int(given["--sessions"]), int(given["--sessions"]) - corrupt - infra
    outcome = "fail" if corrupt else "inconclusive" if infra else "pass"
    counts = (
        {"maxrounds": good}
        | ({"corrupt": corrupt} if corrupt else {})
        | ({"timeout": infra} if infra else {})
    )
    return {
        "schema": 1, "kind": "sessions", "name": given["--tag"], "outcome": outcome, "sessions": sessions,
        "rounds": int(given["--rounds"]), "counts": counts, "corrupt": corrupt, "infra": infra,
        "upper_95": upper_bound(corrupt, sessions), "wall_s": 6.0, "peak_concurrency": sessions, "tokens_per_s": 1.0,
        "lines": [f"wall=6.0s counts={json.dumps(counts)}", f"CORRUPTION sessions: {corrupt}/{sessions} = {corrupt:d}%"],
        "findings": [], "waves": [], "streams": None,
    }  # fmt: skip
