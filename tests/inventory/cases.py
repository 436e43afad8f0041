"""Tables of cases, and host files laid down to be loaded."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

_CASES = Path(__file__).parent.parent / "cases" / "inventory"


def cases(table: str) -> list[Any]:
    """The cases of tests/cases/inventory/<table>.yml, each under its name."""
    text = (_CASES / f"{table}.yml").read_text("utf-8")
    return [pytest.param(case, id=case["name"]) for case in yaml.load(text, yaml.CSafeLoader)]


def hosts_dir(root: Path, text: str, profile: str | None = None) -> Path:
    """A hosts/ directory with gpu1.yml and, where given, profiles/pd.yml."""
    directory = root / "hosts"
    (directory / "profiles").mkdir(parents=True)
    (directory / "gpu1.yml").write_text(text, "utf-8")
    if profile is not None:
        (directory / "profiles" / "pd.yml").write_text(profile, "utf-8")
    return directory
