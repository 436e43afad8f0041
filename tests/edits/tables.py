"""Cases from the YAML tables in tests/cases/edits."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from runbook.errors import EditRefusedError

if TYPE_CHECKING:
    from collections.abc import Callable

CASES = Path(__file__).resolve().parents[1] / "cases" / "edits"


def cases(*tables: str) -> list[Any]:
    """The cases of tables as parameters; a name may stand once."""
    found = [case for table in tables for case in yaml.safe_load((CASES / f"{table}.yaml").read_text())]
    names = [case["name"] for case in found]
    assert len(set(names)) == len(names)
    return [pytest.param(case, id=case["name"]) for case in found]


def wanted(case: dict[str, Any]) -> str:
    """The text a case wants."""
    text = case["text"] if case["want"] == "same" else case["want"]
    assert isinstance(text, str)
    return text


def asked(case: dict[str, Any]) -> dict[str, Any]:
    """What a case asks, as keyword arguments of an edit."""
    return {"set": case.get("set", {}), "unset": case.get("unset", [])}


def holds(edit: Callable[..., str], case: dict[str, Any]) -> None:
    """An edit does what its case says, refuses where it says so, and changes nothing the second time."""
    if "error" in case:
        with pytest.raises(EditRefusedError) as refused:
            edit(case["text"], **asked(case))
        assert case["error"]["says"] in refused.value.reason
        assert refused.value.line == case["error"]["line"]
        return
    edited = edit(case["text"], **asked(case))
    assert edited == wanted(case)
    assert edit(edited, **asked(case)) == edited
