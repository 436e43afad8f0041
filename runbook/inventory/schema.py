"""hosts/schema.json, from which editors complete a host file; `python -m runbook.inventory.schema` prints it."""

from __future__ import annotations

import json
import sys
from typing import Any

from runbook.inventory.tables import HostFile

# Entries of lists are never merged with a profile's, so they alone must be complete.
_COMPLETE = frozenset({"SessionsTable", "CommandTable"})


def json_schema() -> str:
    """The schema's text. A host file may leave out what its profile says, and take a role or a flag away with null."""
    document: dict[str, Any] = HostFile.model_json_schema()
    tables = document["$defs"]
    for table in (document, *(tables[name] for name in tables.keys() - _COMPLETE)):
        table.pop("required", None)
    named = (
        document["properties"]["units"],
        document["properties"]["flags"],
        tables["UnitTable"]["properties"]["args"],
    )
    for mapping in named:
        entries = mapping["patternProperties"]
        mapping["patternProperties"] = {
            pattern: {"anyOf": [entry, {"type": "null"}]} for pattern, entry in entries.items()
        }
        mapping["additionalProperties"] = False
    return (
        json.dumps({"$schema": "https://json-schema.org/draft/2020-12/schema", **document}, indent=2) + "\n"
    )


if __name__ == "__main__":
    sys.stdout.write(json_schema())
