"""The helper's sources are Python 3.9 and the load generator's 3.10, read by every means there is here."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import runbook
from tests.compatibility import interpreters, names, novelties

PACKAGE = Path(runbook.__file__).parent
OLDEST = {"onhost": "3.9", "load": "3.10"}
SOURCES = {room: sorted((PACKAGE / room).rglob("*.py")) for room in OLDEST}
# What the load generator's archive carries, and a package it does without.
CARRIED = "runbook,httpx,httpcore,tokenizers"


def parsed(path: Path, version: str) -> ast.Module:
    major, minor = map(int, version.split("."))
    return ast.parse(path.read_text(encoding="utf-8"), feature_version=(major, minor))


@pytest.mark.parametrize("room", OLDEST)
def test_every_source_parses_as_the_oldest_python_it_meets(room: str) -> None:
    assert len(SOURCES[room]) > 30
    for path in SOURCES[room]:
        parsed(path, OLDEST[room])


def test_no_source_of_the_helper_holds_what_came_with_3_10() -> None:
    found = {path.name: [*novelties.found(parsed(path, "3.9"))] for path in SOURCES["onhost"]}
    assert {name: new for name, new in found.items() if new} == {}


@pytest.mark.parametrize(
    ("source", "new"),
    [
        ("x = int | None", ["int | None"]),
        ("def f(a: int): isinstance(a, str | bytes)", ["str | bytes"]),
        ("def f(a: int | None): pass", ["int | None"]),
        ("from __future__ import annotations\ndef f(a: int | None) -> str | None: pass", []),
        ("flags = os.O_RDONLY | os.O_CLOEXEC", []),
        ("zip(a, b, strict=True)", ["zip(a, b, strict=True)"]),
        ("@dataclasses.dataclass(frozen=True, slots=True)\nclass A: pass", ["dataclasses.dataclass(frozen=True, slots=True)"]),
        ("(5).bit_count()", ["5 .bit_count"]),
        ("anext(rows)", ["anext"]),
    ],
)  # fmt: skip
def test_what_came_with_3_10_is_noticed(source: str, new: list[str]) -> None:
    assert [*novelties.found(ast.parse(source))] == new


@pytest.mark.real
@pytest.mark.parametrize("room", OLDEST)
def test_the_linter_takes_every_source_for_the_oldest_python(room: str) -> None:
    """It knows syntax that `ast` takes whatever its feature version says: quotes nested in f-strings, starred unpacking."""
    version = f"py{OLDEST[room].replace('.', '')}"
    lint = [sys.executable, "-m", "ruff", "check", "--isolated", "--select=E9", f"--target-version={version}"]
    done = subprocess.run([*lint, str(PACKAGE / room)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


@pytest.mark.real
@pytest.mark.parametrize("room", OLDEST)
def test_the_type_checker_finds_every_name_in_3_10(room: str) -> None:
    """The oldest Python that mypy knows: for the helper a year too young."""
    check = [sys.executable, "-m", "mypy", "--python-version=3.10", "-p", f"runbook.{room}"]
    done = subprocess.run(check, cwd=PACKAGE.parent, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


@pytest.mark.real
@pytest.mark.parametrize("room", OLDEST)
def test_the_oldest_python_itself_has_every_name_of_its_library(room: str) -> None:
    command = [interpreters.needed(OLDEST[room]), names.__file__, CARRIED, *map(str, SOURCES[room])]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr, done.returncode) == ("", "", 0)


@pytest.mark.parametrize(
    ("source", "want"),
    [
        ("import nosuch", [(1, "nosuch")]),
        ("import os.path as p, nosuch.deep\np.join\np.nosuch", [(1, "nosuch.deep"), (1, "nosuch"), (3, "os.path.nosuch")]),
        ("from os import path, nosuch", [(1, "os.nosuch")]),
        ("import os\ndef f():\n    return os.nosuch()", [(3, "os.nosuch")]),
        ("if TYPE_CHECKING:\n    import nosuch", []),
        ("import httpx\nhttpx.nosuch", []),
        ("from xml import etree", []),
    ],
)  # fmt: skip
def test_a_name_that_is_not_there_is_told_with_its_line(source: str, want: list[tuple[int, str]]) -> None:
    assert [*names.missing(source, but=("httpx",))] == want
