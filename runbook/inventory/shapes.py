"""The kinds of text and number a host file holds, each with the words that say what it should be."""

from __future__ import annotations

import datetime
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any
from urllib.parse import urlsplit

from pydantic import BeforeValidator, Field, WithJsonSchema
from pydantic_core import PydanticCustomError, core_schema

from runbook import kinds

if TYPE_CHECKING:
    from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler


# Modules of these rooms that are none of the kinds a host file can name.
_NO_SCHEMES = ("breaker", "health", "ready", "unit")
_NO_KINDS = ("bench", "benchcommand", "command")


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


def _health_url(value: object) -> str:
    """A URL; one whose scheme is a probe's name is looked at as if it were HTTP's."""
    scheme = value.partition("://")[0] if isinstance(value, str) else ""
    if scheme in _NO_SCHEMES or not kinds.exists("probes", scheme):
        return _url(value)
    _url(f"http{str(value)[len(scheme) :]}")
    return str(value)


def _kind(value: object) -> str:
    if not isinstance(value, str) or value in _NO_KINDS or not kinds.exists("validations", value):
        raise _wrong("should be sessions, or the name of another file in runbook/validations/")
    return value


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
Option = Annotated[
    str,
    Shape(r"--?[A-Za-z][A-Za-z0-9_.-]*", "an option with its dashes, such as --mem-fraction-static"),
]
UnitName = Annotated[
    str, Shape(r"(?!-)[A-Za-z0-9:_.@\\-]+\.service", "a full unit name such as sglang-dsv4-decode.service")
]
HostPath = Annotated[
    str, Shape(r"(?!.*/\.\.?(?:/|$))(?:/[^/\x00-\x1f\x7f]+)+", "an absolute path without . and ..")
]
Python = Annotated[
    str, Shape(r"(?:/[^/\x00-\x1f\x7f]+)+|(?!-)[A-Za-z0-9_.+-]+", "a command name or an absolute path")
]
Address = Annotated[str, Shape(r"(?!-)[A-Za-z0-9._:%\[\]-]+", "a host name, address or ssh_config alias")]
Login = Annotated[str, Shape(r"(?!-)[A-Za-z0-9._@\\+-]+\$?", "a login name")]
Url = Annotated[str, BeforeValidator(_url), WithJsonSchema({"type": "string", "format": "uri"})]
HealthUrl = Annotated[str, BeforeValidator(_health_url), WithJsonSchema({"type": "string", "format": "uri"})]
Kind = Annotated[str, BeforeValidator(_kind), WithJsonSchema({"type": "string"})]
BaseUrl = Annotated[str, BeforeValidator(_base_url), WithJsonSchema({"type": "string", "format": "uri"})]
Date = Annotated[datetime.date, BeforeValidator(_date)]
Literally = Annotated[str, _LINE, _LITERAL_JSON]
Count = Annotated[int, Field(ge=1, le=1_000_000)]
Seconds = Annotated[float, Field(gt=0, le=86_400)]
Settling = Annotated[float, Field(ge=0, le=3_600)]
