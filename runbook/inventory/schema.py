"""The host file's keys, types and defaults; `python -m runbook.inventory.schema` writes the JSON Schema for editors."""

from __future__ import annotations

import datetime
import json
import re
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Literal
from urllib.parse import urlsplit

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Discriminator,
    Field,
    Tag,
    WithJsonSchema,
)
from pydantic_core import PydanticCustomError, core_schema

if TYPE_CHECKING:
    from collections.abc import Collection

    from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler

    from runbook.inventory.nodes import Path


def _wrong(should: str) -> PydanticCustomError:
    return PydanticCustomError("host_file", "{should}", {"should": should})


@dataclass(frozen=True, slots=True)
class Shape:
    """A text that matches `pattern` as a whole; `should` completes "should be …"."""

    pattern: str
    should: str

    def __get_pydantic_core_schema__(
        self, source: Any, handler: GetCoreSchemaHandler
    ) -> core_schema.CoreSchema:
        return core_schema.no_info_before_validator_function(self.check, handler(source))

    def __get_pydantic_json_schema__(
        self, schema: core_schema.CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        return {**handler(schema), "pattern": f"^(?:{self.pattern})$"}

    def check(self, value: object) -> str:
        if not isinstance(value, str) or not re.fullmatch(self.pattern, value):
            raise _wrong(f"should be {self.should}")
        return value


def _url(value: object) -> str:
    if (
        not isinstance(value, str)
        or not re.fullmatch(r"https?://[\x21-\x7e]+", value)
        or not _has_place(value)
    ):
        raise _wrong("should be a URL")
    if "@" in urlsplit(value).netloc:
        raise _wrong("should be a URL without a login; name the variable that holds a key with api_key_env")
    return value


def _has_place(url: str) -> bool:
    try:
        parts = urlsplit(url)
        return bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False


def _base_url(value: object) -> str:
    url = _url(value)
    if not re.fullmatch(r"https?://[^/?#]+/?", url):
        raise _wrong("should be a URL that ends after the port; the path of chat is added to it")
    return url.rstrip("/")


def _date(value: Any) -> Any:
    if not isinstance(value, str) or not re.fullmatch(r"\d{4}-\d\d-\d\d", value):
        raise _wrong("should be a date like 2026-11-30")
    try:
        return datetime.date.fromisoformat(value)
    except ValueError as error:
        raise _wrong(f"should be a day of the calendar ({error})") from error


_LITERAL_JSON = WithJsonSchema({"type": ["string", "number", "boolean"]})
_LINE = Shape(r"[^\x00-\x08\x0a-\x1f\x7f]*", "one line of text without control characters")

Line = Annotated[
    str,
    Shape(r"(?=.*\S)[^\x00-\x1f\x7f]{1,500}", "a line of text (a number in quotes), at most 500 characters"),
]
Name = Annotated[
    str, Shape(r"[A-Za-z0-9](?:[._-]?[A-Za-z0-9])*", "a name of letters, digits, dots and dashes")
]
Role = Annotated[str, Shape(r"[a-z][a-z0-9_-]*", "a role name in small letters")]
Variable = Annotated[str, Shape(r"[A-Za-z_][A-Za-z0-9_]*", "a variable name")]
UnitName = Annotated[
    str, Shape(r"[A-Za-z0-9:_.@\\-]+\.service", "a full unit name such as sglang-dsv4-decode.service")
]
HostPath = Annotated[
    str, Shape(r"(?!.*/\.\.?(?:/|$))(?:/[^/\x00-\x1f\x7f]+)+", "an absolute path without . and ..")
]
Python = Annotated[
    str, Shape(r"(?:/[A-Za-z0-9_.+-]+)+|[A-Za-z0-9_.+-]+", "a command name or an absolute path")
]
Address = Annotated[str, Shape(r"(?!-)[A-Za-z0-9._:%\[\]-]+", "a host name, address or ssh_config alias")]
Login = Annotated[str, Shape(r"(?!-)[A-Za-z0-9._@\\+-]+\$?", "a login name")]
Url = Annotated[str, BeforeValidator(_url), WithJsonSchema({"type": "string", "format": "uri"})]
BaseUrl = Annotated[str, BeforeValidator(_base_url), WithJsonSchema({"type": "string", "format": "uri"})]
Date = Annotated[datetime.date, BeforeValidator(_date)]
Literally = Annotated[str, _LINE, _LITERAL_JSON]
OptionName = Annotated[str, Shape(r"[a-z][a-z0-9_-]*", "an option's long name")]
Count = Annotated[int, Field(ge=1, le=1_000_000)]
Seconds = Annotated[float, Field(gt=0, le=86_400)]
Settling = Annotated[float, Field(ge=0, le=3_600)]


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


class UnitTable(_Table):
    """One systemd unit of the service."""

    unit: UnitName = Field(description="Full unit name.")
    script: HostPath | None = Field(None, description="Serve script that its ExecStart runs.")
    health: Url | None = Field(None, description="Answers 200 when the unit is up, as seen from the host.")
    url: BaseUrl | None = Field(None, description="Base URL that answers chat, as seen from the host.")


class FlagTable(_Table):
    """One environment variable: a value, or absent."""

    value: Literally | None = Field(None, description="Wanted value, the scalar's literal text.")
    absent: Literal[True] | None = Field(None, description="The variable must not be set.")
    why: Line = Field(description="Reason, for the next person.")
    units: Annotated[list[Role], Field(min_length=1)] | None = Field(
        None, description="Roles; every unit with a script where omitted."
    )
    owner: Line | None = None
    since: Date | None = None
    expires: Date | None = None
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
    """A corruption run; further keys are options of `python -m runbook.load repro`."""

    model_config = ConfigDict(extra="allow")
    __pydantic_extra__: dict[OptionName, Literally] = Field(init=False)

    name: Name
    sessions: Annotated[int, Field(ge=1, le=10_000)]
    rounds: Annotated[int, Field(ge=1, le=1_000)]
    ctx: Annotated[int, Field(ge=0, le=1_000_000)] = Field(350, description="Prompt filler in tokens.")
    max_tokens: Count = 2000
    timeout_s: Seconds = Field(260.0, description="A session's deadline.")


class CommandTable(_Table):
    """A validation by a command of your own on the host, judged by the two lines it prints."""

    name: Name
    run: Annotated[str, Shape(r"(?=.*\S)[^\x00-\x1f\x7f]{1,4000}", "one command line")]
    timeout_s: Seconds = 1800.0


class BenchTable(_Table):
    """A throughput sweep; further keys are options of `python -m runbook.load bench`."""

    model_config = ConfigDict(extra="allow")
    __pydantic_extra__: dict[OptionName, Literally] = Field(init=False)

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
    budget_s: Seconds | None = Field(None, description="Bounds the whole sweep.")
    accept: Line | None = Field(None, description="A known cost that may pass; audited.")


class PolicyTable(_Table):
    """What a bad answer does."""

    on_corrupt: Literal["rollback", "keep"] = "rollback"
    on_unhealthy: Literal["rollback", "keep"] = "rollback"
    on_bench: Literal["rollback", "keep"] = "keep"
    on_inconclusive: Literal["rollback", "keep"] = "keep"
    undeclared_flags: Literal["warn", "fail"] = "warn"
    expired_flags: Literal["warn", "fail"] = "warn"


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
    python: Python = Field("python3", description="Python 3.9 or newer on the host.")
    state_dir: HostPath = "/var/lib/runbook"
    keep_releases: Annotated[int, Field(ge=2, le=10_000)] = 20
    units: Annotated[dict[Role, UnitTable], Field(min_length=1)] = Field(description="In start order.")
    model: Line = Field(description="Served model name.")
    flags: dict[Variable, FlagTable] = {}
    wait: WaitTable = WaitTable()
    validations: list[Validation] = []
    bench: BenchTable | None = None
    policy: PolicyTable = PolicyTable()


def table_at(path: Path, written: Collection[str]) -> type[BaseModel] | None:
    """The table at a path where the keys `written` stand; None where keys are free (roles, flag names)."""
    match path:
        case ():
            return HostFile
        case ("units", _):
            return UnitTable
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
        case ("validations", int()):
            return CommandTable if "run" in written else SessionsTable
        case _:
            return None


def is_literal(path: Path) -> bool:
    """Whether a scalar at this path stays the text that was written: flag values and options of the load generator."""
    match path:
        case ("flags", _, "value" | "engine_default"):
            return True
        case ("validations", int(), str(key)):
            return key not in {*SessionsTable.model_fields, *CommandTable.model_fields}
        case ("bench", str(key)):
            return key not in BenchTable.model_fields
        case _:
            return False


def json_schema() -> str:
    """The text of hosts/schema.json. A host file may leave out what its profile says, so nothing is required."""
    document = HostFile.model_json_schema()
    document.pop("required", None)
    document = {"$schema": "https://json-schema.org/draft/2020-12/schema", **document}
    return json.dumps(document, indent=2) + "\n"


if __name__ == "__main__":
    sys.stdout.write(json_schema())
