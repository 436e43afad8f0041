"""The host file's keys, types and defaults as pydantic tables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Discriminator, Field, Tag

from runbook.inventory.shapes import (
    Address,
    BaseUrl,
    Count,
    Date,
    HealthUrl,
    HostPath,
    Kind,
    Line,
    Literally,
    Login,
    Name,
    Option,
    Python,
    Role,
    Seconds,
    Settling,
    Shape,
    UnitName,
    Url,
    Variable,
)

if TYPE_CHECKING:
    from collections.abc import Collection

    from runbook.inventory.nodes import Path


class _Table(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class SshTable(_Table):
    """Where to log in."""

    address: Address = Field(description="Host name, address or alias of ~/.ssh/config.")
    user: Login | None = None
    port: Annotated[int, Field(ge=1, le=65_535)] | None = None
    key: Line | None = Field(None, description="Private key file here; else OpenSSH's own rules.")
    known_hosts: Line | None = Field(None, description="Replaces the user's and the system's known_hosts.")
    config: Line | None = Field(None, description="Replaces ~/.ssh/config.")


class LedgerTable(_Table):
    """What the ledger keeps of one flag or argument: a value, or absent, and why."""

    value: Literally | None = Field(None, description="Wanted value, the scalar's literal text.")
    absent: Literal[True] | None = Field(None, description="It must not be set, or not be given.")
    why: Line = Field(description="Reason, for the next person.")
    owner: Line | None = None
    since: Date | None = None
    expires: Date | None = None


class ArgumentTable(LedgerTable):
    """One option of a launch command: with a value, alone, or absent."""

    present: Literal[True] | None = Field(None, description="The option stands alone, without a value.")


class UnitTable(_Table):
    """One systemd unit of the service."""

    unit: UnitName = Field(description="Full unit name.")
    script: HostPath | None = Field(None, description="Serve script that its ExecStart runs.")
    health: HealthUrl | None = Field(
        None,
        description="Answers 200 when the unit is up, as seen from the host; not of HTTP: probes/<scheme>.py asks.",
    )
    url: BaseUrl | None = Field(None, description="Base URL that answers chat, as seen from the host.")
    env_files: list[HostPath] = Field([], description="EnvironmentFiles where flags may be edited too.")
    drop_ins: list[HostPath] = Field([], description="Unit files and drop-ins where flags may be edited too.")
    sourced: list[HostPath] = Field([], description="Files its script sources where flags may be edited too.")
    args: dict[Option, ArgumentTable] = Field({}, description="Options of its script's launch command.")


class FlagTable(LedgerTable):
    """One environment variable: a value, or absent."""

    units: Annotated[list[Role], Field(min_length=1)] | None = Field(
        None, description="Roles; every unit with a script where omitted."
    )
    engine_default: Literally | None = Field(None, description="What the engine does when it is absent.")


class BudgetTable(_Table):
    """How long a probe may ask. The defaults are the original rollout's numbers."""

    attempts: Annotated[int, Field(ge=1, le=10_000)]
    every_s: Seconds
    timeout_s: Seconds


class HealthTable(BudgetTable):
    attempts: Annotated[int, Field(ge=1, le=10_000)] = 60
    every_s: Seconds = 5.0
    timeout_s: Seconds = 3.0


class ReadyTable(BudgetTable):
    attempts: Annotated[int, Field(ge=1, le=10_000)] = 30
    every_s: Seconds = 3.0
    timeout_s: Seconds = 10.0
    max_tokens: Count = 8


class WaitTable(_Table):
    health: HealthTable = HealthTable()
    ready: ReadyTable = ReadyTable()
    hold_s: Settling = Field(
        default=5.0, description="A unit keeps its MainPID this long before it counts as up."
    )


class SessionsTable(_Table):
    """A corruption run; further keys are options of `python -m runbook.load repro`, or of the kind that runs it."""

    model_config = ConfigDict(extra="allow")
    __pydantic_extra__: dict[str, Literally] = Field(init=False)

    name: Name
    sessions: Annotated[int, Field(ge=1, le=10_000)]
    rounds: Annotated[int, Field(ge=1, le=1_000)]
    ctx: Annotated[int, Field(ge=0, le=1_000_000)] = Field(350, description="Prompt filler in tokens.")
    max_tokens: Count = 2000
    timeout_s: Seconds = Field(260.0, description="A session's deadline.")
    kind: Kind = Field("sessions", description="runbook/validations/<kind>.py measures it.")


CommandLine = Annotated[str, Shape(r"(?=.*\S)[^\x00-\x1f\x7f]{1,4000}", "one command line")]


class CommandTable(_Table):
    """A validation by a command of your own on the host, judged by the two lines it prints."""

    name: Name
    run: CommandLine
    timeout_s: Seconds = 1800.0


class BenchTable(_Table):
    """A throughput sweep, or a command of your own; further keys are options of `python -m runbook.load bench`."""

    model_config = ConfigDict(extra="allow")
    __pydantic_extra__: dict[str, Literally] = Field(init=False)

    concurrency: Annotated[list[Annotated[int, Field(ge=1, le=10_000)]], Field(min_length=1)] = [
        1,
        8,
        32,
        64,
        80,
    ]
    input_tokens: Count = 350
    output_tokens: Count = 256
    repeats: Annotated[int, Field(ge=1, le=1_000)] = 5
    max_regression: Annotated[float, Field(ge=0, lt=1)] = Field(0.10, description="0.10: may fall to 0.90.")
    budget_s: Seconds | None = Field(None, description="Bounds the whole sweep, or the command.")
    run: CommandLine | None = Field(
        None,
        description="A command of your own in place of the sweep; no number is read out of what it prints.",
    )
    accept: Line | None = Field(None, description="A known cost that may pass; audited.")


class PolicyTable(_Table):
    """What a bad answer does, and what the audit of a deploy or rollback must hold."""

    on_corrupt: Literal["rollback", "keep"] = "rollback"
    on_unhealthy: Literal["rollback", "keep"] = "rollback"
    on_bench: Literal["rollback", "keep"] = "keep"
    on_inconclusive: Literal["rollback", "keep"] = "keep"
    undeclared_flags: Literal["warn", "fail"] = "warn"
    expired_flags: Literal["warn", "fail"] = "warn"
    reason: Annotated[Literal["optional", "required"], Field(description="Of --reason.")] = "optional"
    signature: Annotated[
        Literal["optional", "required"], Field(description="With the key RUNBOOK_SIGNING_KEY names.")
    ] = "optional"


class NoticeTable(_Table):
    """A webhook that is told of rollouts: JSON with a text that Slack shows."""

    url: Url | None = Field(None, description="Where to post; who knows it can post, too.")
    url_env: Variable | None = Field(None, description="Variable HERE that holds the URL.")
    on: Annotated[list[Literal["started", "failed", "rolled_back", "passed"]], Field(min_length=1)] = [
        "started",
        "failed",
        "rolled_back",
        "passed",
    ]


_ALIAS, _TABLE, _SESSIONS, _COMMAND = "<alias>", "<table>", "<sessions>", "<command>"
BRANCHES = frozenset({_ALIAS, _TABLE, _SESSIONS, _COMMAND})


def _ssh_branch(value: Any) -> str:
    return _ALIAS if isinstance(value, str) else _TABLE


def _validation_branch(value: Any) -> str:
    return _COMMAND if isinstance(value, dict) and "run" in value else _SESSIONS


Ssh = Annotated[
    Annotated[Address, Tag(_ALIAS)] | Annotated[SshTable, Tag(_TABLE)], Discriminator(_ssh_branch)
]
Validation = Annotated[
    Annotated[SessionsTable, Tag(_SESSIONS)] | Annotated[CommandTable, Tag(_COMMAND)],
    Discriminator(_validation_branch),
]


class HostFile(_Table):
    """One machine and what should be true on it. hosts/example.yml is the manual."""

    profile: Name | None = Field(None, description="hosts/profiles/<name>.yml, laid under this file.")
    service: Name | None = Field(
        None, description="Names the state on the host; default: the profile's name."
    )
    traffic: Literal["none", "live"] = "none"
    api_key_env: Variable | None = Field(None, description="Variable HERE that holds the endpoint's key.")
    ssh: Ssh
    become: bool = Field(False, description="Work as root through sudo.")
    scope: Literal["system", "user"] = Field(
        "system", description="user: units of the login user (systemctl --user)."
    )
    python: Python = Field("python3", description="Python 3.9 or newer on the host.")
    state_dir: HostPath = "/var/lib/runbook"
    keep_releases: Annotated[int, Field(ge=2, le=10_000)] = 20
    source: HostPath | None = Field(
        None, description="A git checkout on the host; the audit tells its revision."
    )
    units: Annotated[dict[Role, UnitTable], Field(min_length=1)] = Field(description="In start order.")
    model: Line = Field(description="Served model name.")
    flags: dict[Variable, FlagTable] = {}
    wait: WaitTable = WaitTable()
    validations: list[Validation] = []
    bench: BenchTable | None = None
    policy: PolicyTable = PolicyTable()
    notify: list[NoticeTable] = []


def table_at(path: Path, written: Collection[str]) -> type[BaseModel] | None:
    """The table at a path where the keys `written` stand; None where keys are free (roles, flag names)."""
    match path:
        case ():
            return HostFile
        case ("units", _):
            return UnitTable
        case ("units", _, "args", _):
            return ArgumentTable
        case ("flags", _):
            return FlagTable
        case ("wait", "health" | "ready" as probe):
            return HealthTable if probe == "health" else ReadyTable
        case (str(key),):
            tables: dict[str, type[BaseModel]] = {
                "ssh": SshTable,
                "wait": WaitTable,
                "bench": BenchTable,
                "policy": PolicyTable,
            }
            return tables.get(key)
        case ("notify", int()):
            return NoticeTable
        case ("validations", int()):
            return CommandTable if "run" in written else SessionsTable
        case _:
            return None


def is_literal(path: Path) -> bool:
    """Whether a scalar at this path stays the text that was written: values of flags and arguments, options of the load
    generator.
    """
    match path:
        case ("flags", _, "value" | "engine_default") | ("units", _, "args", _, "value"):
            return True
        case ("validations", int(), str(key)):
            return key not in {*SessionsTable.model_fields, *CommandTable.model_fields}
        case ("bench", str(key)):
            return key not in BenchTable.model_fields
        case _:
            return False
