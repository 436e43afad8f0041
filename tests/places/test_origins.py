"""Every place that sets a variable, and what comes of them; scripts are held against a real bash."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from runbook.places import origins
from runbook.places.reading import Files
from tests.places.laying import flag, seen, the_host

_CASES = yaml.safe_load((Path(__file__).parents[1] / "cases" / "places" / "origins.yml").read_text())
# What only a run can tell has no one answer, a file that is not there fails, and one that sources itself never ends.
_WITH_BASH = [
    case
    for case in _CASES
    if case["value"] != "?" and None not in case.get("sourced", {}).values() and "itself" not in case["name"]
]


def found(case: dict[str, Any]) -> origins.Origins:
    return origins.of(the_host().units[0], [flag()], Files(seen(case)))


@pytest.mark.parametrize("case", _CASES, ids=lambda case: case["name"])
def test_each_place_is_told_and_what_comes_of_them(case: dict[str, Any]) -> None:
    got = found(case)
    places = [[p.kind, p.path.removeprefix("/"), p.line, p.value] for p in got.places.get("K", ())]
    assert places == case["want"]
    undecided = "K" in got.unreadable or ("K" in got.values and got.values["K"] is None)
    assert ("?" if undecided else got.values.get("K", "absent")) == case["value"]
    assert list(got.unread) == case.get("unread", [])


@pytest.mark.real
@pytest.mark.parametrize("case", _WITH_BASH, ids=lambda case: case["name"])
def test_bash_agrees(case: dict[str, Any], tmp_path: Path) -> None:
    """The script really run on what systemd would give it, with a launch that prints its environment."""
    given = {
        place.name: place.value or "" for place in found(case).places.get("K", ()) if _is_systemd(place.kind)
    }
    python = tmp_path / "python"
    python.write_text("#!/bin/sh\n/usr/bin/env -0\n")
    python.chmod(0o755)
    text = case["script"].replace("python", str(python))
    for path, content in case.get("sourced", {}).items():
        (tmp_path / path[1:]).write_text(content.replace(". /", f". {tmp_path}/"))
        text = text.replace(f" {path}", f" {tmp_path}{path}")
    done = subprocess.run(
        ["bash", "-c", text], env={"PATH": "/bin", **given}, capture_output=True, check=True
    )
    environ = dict(line.split("=", 1) for line in done.stdout.decode().split("\0") if "=" in line)
    assert environ.get("K", "absent") == case["value"]


def _is_systemd(kind: str) -> bool:
    return kind not in ("script", "sourced file")


def test_secrets_are_masked_wherever_a_place_is_shown() -> None:
    from runbook.places.place import Place

    place = Place("drop-in", "HF_TOKEN", "hf_x", "/a", 1)
    assert (place.shown, place.to_json()["value"]) == ("***", "***")
