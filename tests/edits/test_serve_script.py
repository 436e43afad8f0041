"""The serve script edit, case by case."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from runbook.edits.serve_script import edit, read
from runbook.errors import EditRefusedError
from tests.edits.tables import CASES, cases, holds

if TYPE_CHECKING:
    from pathlib import Path

TABLES = ("serve_script_set", "serve_script_unset", "serve_script_refused")
SCRIPTS = sorted((CASES / "scripts").glob("*.sh"))


@pytest.mark.parametrize("case", cases(*TABLES))
def test_a_script_is_edited_as_its_case_says(case: dict[str, Any]) -> None:
    holds(edit, case)


@pytest.mark.parametrize("case", cases("serve_script_read"))
def test_a_script_is_read_as_its_case_says(case: dict[str, Any]) -> None:
    found = read(case["text"])
    assert dict(found.values) == case.get("values", {})
    assert sorted(found.unreadable) == case.get("unreadable", [])
    for key, value in case.get("also", {}).items():
        assert json.loads(json.dumps(getattr(found, key))) == value


def _text(script: Path) -> str:
    return script.read_bytes().decode("utf-8", "surrogateescape")


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_a_real_looking_script_gets_a_new_flag_and_loses_it_again(script: Path) -> None:
    text = _text(script)
    there = edit(text, set={"SGLANG_NEW": "a b", "SGLANG_OTHER": "1"})
    assert read(there).values == {**read(text).values, "SGLANG_NEW": "a b", "SGLANG_OTHER": "1"}
    assert len(there.splitlines()) == len(text.splitlines()) + 2
    assert edit(there, unset=["SGLANG_NEW", "SGLANG_OTHER"]) == text


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_every_flag_of_a_real_looking_script_can_be_changed_and_changed_back(script: Path) -> None:
    text = _text(script)
    before = read(text)
    for name, value in before.values.items():
        changed = edit(text, set={name: "other value"})
        assert read(changed).values == {**before.values, name: "other value"}
        if value is not None:
            back = edit(changed, set={name: value})
            assert read(back).values == before.values
            assert len(_differing(text, back)) <= 1 + value.count("\n")


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_every_flag_of_a_real_looking_script_can_be_taken_away_or_says_why_not(script: Path) -> None:
    text = _text(script)
    before = read(text)
    for name in before.values:
        refused = _refusal(text, name)
        if refused:
            assert "cannot be removed" in refused.reason
            assert f"${name}" in text or f"${{{name}" in text
        else:
            without = edit(text, unset=[name])
            assert read(without).values == {n: v for n, v in before.values.items() if n != name}


def _refusal(text: str, name: str) -> EditRefusedError | None:
    try:
        edit(text, unset=[name])
    except EditRefusedError as refused:
        return refused
    return None


def _differing(left: str, right: str) -> list[tuple[str, str]]:
    assert left.count("\n") == right.count("\n")
    return [pair for pair in zip(left.split("\n"), right.split("\n"), strict=True) if pair[0] != pair[1]]


def test_bytes_outside_utf8_survive_exactly() -> None:
    raw = b"#!/bin/bash\n# caf\xe9\nexport A=\xff\xfe K=0 # \x80\necho '\xc3'\nexec python\n"
    text = raw.decode("utf-8", "surrogateescape")
    edited = edit(text, set={"K": "1", "J": "x"})
    assert edited.encode("utf-8", "surrogateescape") == raw.replace(b"K=0", b"K=1").replace(
        b"# \x80\n", b"# \x80\nexport J=x\n"
    )
    assert read(text).values["A"] == "\udcff\udcfe"


def test_a_byte_outside_utf8_in_a_name_makes_no_assignment() -> None:
    text = b"export A=1\nK\xff=0\nexec python\n".decode("utf-8", "surrogateescape")
    assert set(read(text).values) == {"A"}


def test_a_value_outside_utf8_reads_back() -> None:
    edited = edit("export K=0\nexec python\n", set={"K": "\udcff x"})
    assert read(edited).values == {"K": "\udcff x"}


def test_names_are_added_in_the_order_asked() -> None:
    edited = edit("exec python\n", set=dict.fromkeys("QAZ", "1"))
    assert edited == "export Q=1\nexport A=1\nexport Z=1\nexec python\n"


def test_where_files_are_sourced_is_told_with_what_becomes_of_their_assignments() -> None:
    text = "set -a\n. /etc/a\nset +a\n[ -f /b ] && builtin source '/b' x\n. \"$HERE/c\"\nexec python\n"
    found = read(text).sourced
    assert [(each.path, each.line, each.allexport, each.where) for each in found] == [
        ("/etc/a", 2, True, ""),
        ("/b", 4, False, "&&"),
        ('"$HERE/c"', 5, False, ""),
    ]
    assert [text[slice(*each.span)] for each in found] == [". /etc/a", "builtin source '/b' x", '. "$HERE/c"']
