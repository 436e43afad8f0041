"""The JSON Schema editors complete host files from, and the manual that must name every key of it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from runbook.inventory import tables
from runbook.inventory.reading import read
from runbook.inventory.schema import json_schema

_HOSTS = Path(__file__).parents[2] / "hosts"
_MANUAL = (_HOSTS / "example.yml").read_text("utf-8")


def test_the_schema_file_is_current() -> None:
    shipped = (_HOSTS / "schema.json").read_text("utf-8")
    assert shipped == json_schema(), "python -m runbook.inventory.schema > hosts/schema.json"


def test_only_entries_of_lists_require_keys() -> None:
    document = json.loads(json_schema())
    requiring = {name for name, table in document["$defs"].items() if "required" in table}
    assert requiring == {"SessionsTable", "CommandTable"}
    assert "required" not in document


@pytest.mark.parametrize(
    "table",
    [
        tables.HostFile,
        tables.SshTable,
        tables.UnitTable,
        tables.FlagTable,
        tables.WaitTable,
        tables.HealthTable,
        tables.ReadyTable,
        tables.SessionsTable,
        tables.CommandTable,
        tables.BenchTable,
        tables.PolicyTable,
    ],
)
def test_the_manual_shows_every_key(table: Any) -> None:
    root, problems = read(_MANUAL, "hosts/example.yml")
    assert not problems
    assert set(table.model_fields) <= _keys(root)


def _keys(node: Any) -> set[str]:
    items = getattr(node, "items", ())
    below = items.values() if hasattr(items, "values") else items
    return set(getattr(node, "keys", ())).union(*(_keys(entry) for entry in below))
