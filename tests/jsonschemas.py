"""A checker for the part of JSON Schema that docs/document.schema.json uses; any other keyword is refused."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parents[1]
DOCUMENT = ROOT / "docs" / "document.schema.json"

_TYPES: dict[str, type | tuple[type, ...]] = {
    "object": dict, "array": list, "string": str, "number": (int, float), "integer": int, "boolean": bool,
    "null": type(None),
}  # fmt: skip
_SAID_ELSEWHERE = {
    "$schema",
    "$id",
    "$defs",
    "title",
    "description",
    "type",
    "anyOf",
    "$ref",
    "enum",
    "const",
}
_KEYWORDS = _SAID_ELSEWHERE | {
    "properties", "required", "additionalProperties", "items", "pattern", "minimum", "maximum",
}  # fmt: skip


def problems(value: Any, definition: str | None = None) -> list[str]:
    """What is wrong with a document, `$.findings[0].outcome: …` each; `definition` names one of $defs."""
    whole = json.loads(DOCUMENT.read_text())
    schema = whole if definition is None else {"$ref": f"#/$defs/{definition}"}
    return list(_Check(whole["$defs"]).of(value, schema, "$"))


class _Check:
    def __init__(self, definitions: dict[str, Any]) -> None:
        self._definitions = definitions

    def of(self, value: Any, schema: dict[str, Any], where: str) -> Iterator[str]:
        if unknown := schema.keys() - _KEYWORDS:
            raise NotImplementedError(f"{where}: {sorted(unknown)}")
        if "$ref" in schema:
            yield from self.of(value, self._definitions[schema["$ref"].removeprefix("#/$defs/")], where)
        if "anyOf" in schema:
            yield from self._any(value, schema["anyOf"], where)
        if "type" in schema and not _is_a(value, schema["type"]):
            yield f"{where}: should be {schema['type']}, found {value!r}"
        elif isinstance(value, dict):
            yield from self._object(value, schema, where)
        elif isinstance(value, list):
            for at, one in enumerate(value):
                yield from self.of(one, schema.get("items", {}), f"{where}[{at}]")
        yield from _scalar(value, schema, where)

    def _any(self, value: Any, choices: list[dict[str, Any]], where: str) -> Iterator[str]:
        found = [list(self.of(value, choice, where)) for choice in choices]
        if all(found):
            yield from min(found, key=len)

    def _object(self, value: dict[str, Any], schema: dict[str, Any], where: str) -> Iterator[str]:
        yield from (f"{where}: lacks {name}" for name in schema.get("required", ()) if name not in value)
        known, others = schema.get("properties", {}), schema.get("additionalProperties", True)
        for name, one in value.items():
            if name in known or isinstance(others, dict):
                yield from self.of(one, known.get(name, others), f"{where}.{name}")
            elif not others:
                yield f"{where}.{name}: stands in no schema"


def _is_a(value: Any, types: str | list[str]) -> bool:
    """JSON Schema's types: true is no number."""
    names = [types] if isinstance(types, str) else types
    if isinstance(value, bool):
        return "boolean" in names
    return any(isinstance(value, _TYPES[name]) for name in names)


def _scalar(value: Any, schema: dict[str, Any], where: str) -> Iterator[str]:
    if "enum" in schema and value not in schema["enum"]:
        yield f"{where}: should be one of {schema['enum']}, found {value!r}"
    if "const" in schema and value != schema["const"]:
        yield f"{where}: should be {schema['const']!r}, found {value!r}"
    if isinstance(value, str) and "pattern" in schema and not re.search(schema["pattern"], value):
        yield f"{where}: should match {schema['pattern']}, found {value!r}"
    if isinstance(value, int | float):
        low, high = schema.get("minimum", value), schema.get("maximum", value)
        if not low <= value <= high:
            yield f"{where}: should be from {low} to {high}, found {value!r}"
