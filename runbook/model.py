"""The nouns of the product as frozen values: what should be true, what is, and what we would change.

Named tuples: Python takes 0.1 ms to make one and 0.9 ms to make a frozen dataclass with slots, and a plan needs more than
a hundred of them before it can say a word.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from runbook.onhost.masking import mask_file

if TYPE_CHECKING:
    import datetime
    from collections.abc import Mapping

_LINES = re.compile(r"[^\n]*\n|[^\n]+")

# ------------------------------------------------------------------ what should be true (the host file)


class SshTarget(NamedTuple):
    """Where to log in. `address` may be an alias of ~/.ssh/config; None leaves a choice to OpenSSH's rules.

    `known_hosts` and `config` replace the user's own files (the lab has its own).
    """

    address: str
    user: str | None = None
    port: int | None = None
    key: str | None = None
    known_hosts: str | None = None
    config: str | None = None


class Argument(NamedTuple):
    """One option of a unit's launch command: with a value, alone (`present`), or *absent* where it is neither."""

    name: str
    value: str | None
    why: str
    present: bool = False
    owner: str | None = None
    since: datetime.date | None = None
    expires: datetime.date | None = None

    @property
    def absent(self) -> bool:
        return self.value is None and not self.present

    @property
    def words(self) -> tuple[str, ...] | None:
        """The words wanted after the option's name: its value, none where it stands alone; None for absent."""
        if self.absent:
            return None
        return () if self.value is None else (self.value,)


class Unit(NamedTuple):
    """One systemd unit of the service. `role` is its name in the host file (prefill, decode, router, …).

    Besides the script, flags may be edited in its `env_files` (EnvironmentFile=), `drop_ins` (unit files and drop-ins
    with Environment=) and `sourced` (files the script sources): only there, and only what the script cannot decide.
    `args` are the options that the script's launch command should have or lack.
    """

    role: str
    name: str
    script: str | None = None
    health: str | None = None
    url: str | None = None
    env_files: tuple[str, ...] = ()
    drop_ins: tuple[str, ...] = ()
    sourced: tuple[str, ...] = ()
    args: tuple[Argument, ...] = ()


class Flag(NamedTuple):
    """One environment variable: the wanted value, or None for *absent*; `units` are roles."""

    name: str
    value: str | None
    why: str
    units: tuple[str, ...]
    owner: str | None = None
    since: datetime.date | None = None
    expires: datetime.date | None = None
    engine_default: str | None = None

    @property
    def absent(self) -> bool:
        return self.value is None


class Budget(NamedTuple):
    """How long a probe may ask: `attempts` times, `every_s` apart, each at most `timeout_s`."""

    attempts: int
    every_s: float
    timeout_s: float

    @property
    def total_s(self) -> float:
        """Upper bound in seconds: every attempt runs into its timeout."""
        return self.attempts * max(self.every_s, self.timeout_s)


class Wait(NamedTuple):
    """Budgets of the probes; a unit must keep its MainPID for `hold_s` to count as up."""

    health: Budget
    ready: Budget
    ready_max_tokens: int
    hold_s: float


class Sessions(NamedTuple):
    """A corruption validation: `sessions` agent sessions at once, `rounds` rounds each.

    `ctx` is prompt filler in tokens, `max_tokens` the limit of a response, `timeout_s` a session's deadline.
    `options` are further options of `python -m runbook.load repro`, by their long names without dashes; `kind` names the
    module of `validations/` that measures it.
    """

    name: str
    sessions: int
    rounds: int
    ctx: int
    max_tokens: int
    timeout_s: float
    options: Mapping[str, str] = {}
    kind: str = "sessions"


class Command(NamedTuple):
    """A validation by the user's own script, judged by the two lines it prints."""

    name: str
    run: str
    timeout_s: float = 1800.0


Validation = Sessions | Command


class Bench(NamedTuple):
    """A throughput sweep; `max_regression` 0.10 allows the rate to fall to 0.90 of the baseline.

    `budget_s` bounds the whole sweep; `accept` declares a known cost that may pass, and is audited.
    """

    concurrency: tuple[int, ...]
    input_tokens: int
    output_tokens: int
    repeats: int
    max_regression: float
    budget_s: float | None = None
    accept: str | None = None
    options: Mapping[str, str] = {}


class BenchCommand(NamedTuple):
    """A bench by the user's own script on the host: its last lines are evidence, no number is read out of them.

    So it compares nothing and is inconclusive, unless `accept` declares that having run is enough; that is audited.
    """

    run: str
    timeout_s: float = 1800.0
    accept: str | None = None


class Policy(NamedTuple):
    """What a bad answer does, and what the audit of a change must hold; see the table in README."""

    on_corrupt: Literal["rollback", "keep"] = "rollback"
    on_unhealthy: Literal["rollback", "keep"] = "rollback"
    on_bench: Literal["rollback", "keep"] = "keep"
    on_inconclusive: Literal["rollback", "keep"] = "keep"
    undeclared_flags: Literal["warn", "fail"] = "warn"
    expired_flags: Literal["warn", "fail"] = "warn"
    reason: Literal["optional", "required"] = "optional"
    signature: Literal["optional", "required"] = "optional"


class Notice(NamedTuple):
    """A webhook that hears of rollouts: its URL, or the variable here that holds it; `on` are the moments."""

    on: tuple[str, ...]
    url: str | None = None
    url_env: str | None = None


class Host(NamedTuple):
    """A machine and what should be true on it. `units` stand in start order.

    `source` is the host file, `profile` what it is laid on; `checkout` a git checkout on the host, whose revision is told.
    """

    name: str
    service: str
    source: str
    ssh: SshTarget
    units: tuple[Unit, ...]
    flags: tuple[Flag, ...]
    model: str
    wait: Wait
    validations: tuple[Validation, ...]
    bench: Bench | BenchCommand | None
    policy: Policy
    traffic: Literal["none", "live"] = "none"
    become: bool = False
    python: str = "python3"
    state_dir: str = "/var/lib/runbook"
    api_key_env: str | None = None
    keep_releases: int = 20
    scope: Literal["system", "user"] = "system"
    checkout: str | None = None
    notify: tuple[Notice, ...] = ()
    profile: str | None = None

    @property
    def state(self) -> str:
        """The service's state directory on the host."""
        return f"{self.state_dir}/{self.service}"

    @property
    def scripts(self) -> dict[str, tuple[str, ...]]:
        """Serve script path → roles of the units that run it, in start order."""
        found: dict[str, tuple[str, ...]] = {}
        for unit in self.units:
            if unit.script:
                found[unit.script] = (*found.get(unit.script, ()), unit.role)
        return found

    @property
    def files(self) -> tuple[str, ...]:
        """Every file a flag may be edited in: the scripts, then what units declare besides; releases hold them all."""
        more = (path for unit in self.units for path in (*unit.env_files, *unit.drop_ins, *unit.sourced))
        return tuple(dict.fromkeys((*self.scripts, *more)))

    @property
    def shell_files(self) -> frozenset[str]:
        """Those of `files` that a shell reads."""
        return frozenset((*self.scripts, *(path for unit in self.units for path in unit.sourced)))

    @property
    def endpoint(self) -> Unit | None:
        """The unit that answers chat: the last one with a url (the router, or the single server)."""
        return next((unit for unit in reversed(self.units) if unit.url), None)

    def unit(self, role: str) -> Unit:
        """The unit of a role; KeyError where there is none."""
        for unit in self.units:
            if unit.role == role:
                return unit
        raise KeyError(role)

    def flags_of(self, role: str) -> tuple[Flag, ...]:
        """The flags declared for a role."""
        return tuple(flag for flag in self.flags if role in flag.units)


# ------------------------------------------------------------------ what is (one observation of the host)


class FileState(NamedTuple):
    """One file as read on the host. `content` None: it does not exist, or cannot be read; `denied`: this login may not, and
    whether there is one is not known. `real_path` follows symlinks."""

    path: str
    real_path: str
    content: bytes | None
    mode: int = 0o644
    uid: int = 0
    gid: int = 0
    ctime_ns: int = 0
    error: str | None = None
    denied: bool = False

    @property
    def absent(self) -> bool:
        """Nothing is there; of what is and cannot be read, `error` says why."""
        return self.content is None and self.error is None


class Processes(NamedTuple):
    """What a unit's processes really run with, and how we know.

    `kind`: environ (`/proc/PID/environ` of a process with an intact environment), recorded (by us at the last
    restart, for this very MainPID and start time) or unknown. `environ` maps the names we asked for;
    a missing name is really absent when kind is not unknown. `started_at` in seconds since the epoch. `argv` is the
    command line of `pid`, with secrets masked; empty where it is not known.
    """

    kind: Literal["environ", "recorded", "unknown"]
    environ: Mapping[str, str] = {}
    pid: int = 0
    started_at: float = 0.0
    detail: str = ""
    argv: tuple[str, ...] = ()


class UnitState(NamedTuple):
    """systemd's properties of a unit by their own names, and its processes."""

    name: str
    properties: Mapping[str, str]
    processes: Processes

    @property
    def main_pid(self) -> int:
        return int(self.properties.get("MainPID") or 0)

    @property
    def running(self) -> bool:
        return self.properties.get("ActiveState") == "active" and self.main_pid > 0

    @property
    def exists(self) -> bool:
        return self.properties.get("LoadState") not in ("not-found", "", None)


class Observation(NamedTuple):
    """Everything one look at the host told us.

    `files` are those we may edit, `feeds` what else gives the units their environment, with secrets masked. `manager`
    is the environment systemd's manager hands to every unit, as far as we asked; `manager_error` says why it is not known.
    `damaged` names what lies among the releases and cannot be read as one. `set_once` maps a role to every variable that a
    kept release gave it: what runs may have one although no file says it any more. `beside` are other service directories of
    the host that keep releases of the same units (`onhost.beside`), `audit_bytes` is how long its audit was. `near` maps a
    unit or file that is not there to what of the host has almost its name.
    """

    facts: Mapping[str, Any]
    files: Mapping[str, FileState]
    units: Mapping[str, UnitState]
    releases: tuple[Release, ...]
    current: str | None
    inflight: Mapping[str, Any] | None
    lock_holder: Mapping[str, Any] | None
    free_bytes: int
    free_inodes: int
    read_only: tuple[str, ...]
    now: float
    feeds: Mapping[str, FileState] = {}
    manager: Mapping[str, str] = {}
    manager_error: str | None = None
    damaged: tuple[str, ...] = ()
    set_once: Mapping[str, tuple[str, ...]] = {}
    beside: tuple[Mapping[str, Any], ...] = ()
    audit_bytes: int = 0
    near: Mapping[str, tuple[str, ...]] = {}


# ------------------------------------------------------------------ what we would change


class Change(NamedTuple):
    """One file's bytes before and after; None means absent. `mode`, `uid`, `gid` None: keep what is there.

    `xattrs` (hexadecimal) are laid on a file that is not there.
    """

    path: str
    before: bytes | None
    after: bytes | None
    mode: int | None = None
    uid: int | None = None
    gid: int | None = None
    xattrs: Mapping[str, str] = {}

    def diff(self, context: int = 3) -> str:
        """A unified diff for people: secrets are masked, undecodable bytes shown as replacement characters."""
        import difflib  # here, since a plan that changes nothing has no diff

        before, after = (
            _shown_lines((text or b"").decode("utf-8", "replace")) for text in (self.before, self.after)
        )
        names = (
            "/dev/null" if self.before is None else self.path,
            "/dev/null" if self.after is None else self.path,
        )
        lines = (line.partition("\0")[0] for line in difflib.unified_diff(before, after, *names, n=context))
        return "".join(
            line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines
        )


def _shown_lines(text: str) -> list[str]:
    """A file's lines for a diff: masked, and behind a NUL as they are, so that a change of a secret is one.

    Secrets are masked in the whole, since one in quotes may have several lines.
    """
    lines = _LINES.findall(text.replace("\0", "\ufffd"))
    masked = _LINES.findall(mask_file("".join(lines)))
    return [f"{shown}\0{line}" for shown, line in zip(masked, lines, strict=True)]


class Restart(NamedTuple):
    """A unit to restart, and why."""

    unit: str
    role: str
    why: str


class FileRecord(NamedTuple):
    """A file as a release holds it; `sha256` None: the release wants it absent."""

    path: str
    sha256: str | None
    mode: int = 0o644
    uid: int = 0
    gid: int = 0
    link: str | None = None
    xattrs: Mapping[str, str] = {}


class Release(NamedTuple):
    """An intended state of the host. `flags` maps role → name → value (None: absent).

    `bench` and `validations` are result documents of `runbook.load`; `created` is ISO 8601 UTC. `engine` is what the
    host served with when it was made (`stages.engine.look`), empty where that is not known. `by_hand` are the variables
    that --set gave it and that no host file named. `unfinished`: no rollout of it has come to its end yet.
    """

    id: str
    created: str
    parent: str | None
    verdict: Literal["adopted", "proven", "unproven", "failed"]
    files: tuple[FileRecord, ...]
    flags: Mapping[str, Mapping[str, str | None]] = {}
    rollout: str = ""
    validations: tuple[Mapping[str, Any], ...] = ()
    bench: Mapping[str, Any] | None = None
    engine: Mapping[str, Any] = {}
    by_hand: tuple[str, ...] = ()
    unfinished: bool = False
