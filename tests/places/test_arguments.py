"""What a script's launch command is given, and what a process shows of it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from runbook.model import Processes
from runbook.places import arguments

if TYPE_CHECKING:
    from runbook.places.arguments import Arguments

_CASES = yaml.safe_load((Path(__file__).parents[1] / "cases" / "places" / "arguments.yml").read_text())


def told(found: Arguments) -> list[str] | str | None:
    if not found.tells("--x"):
        return "?"
    words = found.values.get("--x")
    return None if words is None else list(words)


@pytest.mark.parametrize("case", _CASES, ids=lambda case: case["name"])
def test_an_option_is_read_from_script_and_process(case: dict[str, Any]) -> None:
    launch = arguments.of_script(f"#!/bin/bash\n{case['launch']}\n".encode())
    running = arguments.of_process(launch, Processes("environ", pid=7, argv=tuple(case["argv"])))
    assert (told(launch), told(running)) == (case.get("script"), case.get("running"))


def test_what_is_not_known_differs_in_nothing() -> None:
    known, unknown = arguments.of_script(b"exec python -m s --x 1\n"), arguments.NO_SCRIPT
    assert arguments.differences(known, unknown, ["--x", "--y"]) == []
    assert arguments.differences(unknown, known, ["--x", "--y"]) == []


@pytest.mark.parametrize(
    ("words", "want"),
    [(None, "absent"), ((), "present"), (("0.9",), "'0.9'"), (("1", "a\x1b\nb"), "'1', 'a\ufffd b'")],
)
def test_words_are_shown_on_one_line(words: tuple[str, ...] | None, want: str) -> None:
    assert arguments.shown(words) == want


@pytest.mark.parametrize(
    "name", ["--tp", "--tp-size", "--tensor-parallel-size", "-tp", "--tensor_parallel_size"]
)
def test_an_option_is_known_by_every_spelling(name: str) -> None:
    found = arguments.of_script(b"exec python -m s --tp-size 8\n")
    assert (found.of(name), found.tells(name)) == (("8",), True)
    running = arguments.of_process(found, Processes("environ", pid=7, argv=("python", "-m", "s", "-tp=4")))
    assert arguments.differences(found, running, [name]) == [f"{name} is '4', wanted '8'"]


def test_what_may_be_short_for_an_option_leaves_it_undecided() -> None:
    found = arguments.of_script(b"exec python -m s --mem-fraction 0.9 --disable-cuda-graph\n")
    assert not found.tells("--mem-fraction-static")
    assert found.tells("--disable-cuda-graph-padding")
