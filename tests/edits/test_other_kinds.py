"""Launch arguments, environment files and drop-ins, case by case; and how an edit is found by its name."""

from __future__ import annotations

import contextlib
import time
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runbook import edits
from runbook.edits import dropin, env_file, launch_args
from runbook.errors import EditRefusedError, UsageError
from runbook.places import arguments
from tests.edits.tables import cases, holds

_values = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=20)


@pytest.mark.parametrize("case", cases("launch_args"))
def test_launch_arguments_are_edited_as_their_case_says(case: dict[str, Any]) -> None:
    holds(edits.named("launch_args").edit, case)


@pytest.mark.parametrize("case", cases("env_file"))
def test_an_environment_file_is_edited_as_its_case_says(case: dict[str, Any]) -> None:
    holds(edits.named("env_file").edit, case)


@pytest.mark.parametrize("case", cases("dropin"))
def test_a_drop_in_is_edited_as_its_case_says(case: dict[str, Any]) -> None:
    holds(edits.named("dropin").edit, case)


def test_a_line_outside_utf_8_says_nothing_as_systemd_skips_it() -> None:
    text = b"[Service]\nEnvironment=K=\xe9 J=1\nEnvironment=A=1\n".decode("utf-8", "surrogateescape")
    assert dropin.read(text).values == {"A": "1"}
    assert dropin.edit(text, set={"K": "2"}) == f"{text}Environment=K=2\n"


def test_an_environment_file_outside_utf_8_is_refused_but_for_its_comments() -> None:
    comment = b"# caf\xe9\nK=1\n".decode("utf-8", "surrogateescape")
    assert env_file.read(comment).values == {"K": "1"}
    with pytest.raises(EditRefusedError, match="drops the whole file") as refused:
        env_file.edit(comment.replace("K=1", "K=1\nJ=\udce9"), set={"K": "2"})
    assert refused.value.line == 3


@given(value=_values)
def test_any_value_reads_back_from_an_environment_file(value: str) -> None:
    text = "# c\nA=1\nK=0\n"
    edited = env_file.edit(text, set={"K": value})
    assert env_file.read(edited).values == {"A": "1", "K": value}
    assert env_file.edit(edited, unset=["K"]) == "# c\nA=1\n"


@given(value=_values)
def test_any_value_reads_back_from_a_drop_in(value: str) -> None:
    text = "[Service]\nEnvironment=A=1 K=0\n"
    edited = dropin.edit(text, set={"K": value})
    assert dropin.read(edited).values == {"A": "1", "K": value}
    assert dropin.edit(edited, unset=["K"]) == "[Service]\nEnvironment=A=1\n"


@settings(max_examples=settings().max_examples // 4)
@given(value=_values)
def test_any_value_reads_back_from_the_launch_arguments(value: str) -> None:
    edited = launch_args.edit("exec python -m x --a 1\n", set={"--k": value})
    given = arguments.of_script(edited.encode("utf-8", "surrogateescape")).values
    assert given == {"-m": ("x",), "--a": ("1",), "--k": (value,)}
    assert launch_args.edit(edited, unset=["--k"]) == "exec python -m x --a 1\n"


def test_an_environment_file_reports_what_systemd_ignores() -> None:
    found = env_file.read("export K=0\nA=1\n1B=2\n")
    assert found.values == {"A": "1"}
    assert [(entry.name, entry.line) for entry in found.ignored] == [("export K", 1), ("1B", 3)]


def test_a_drop_in_tells_what_else_decides_the_environment() -> None:
    found = dropin.read(
        "[Service]\nEnvironment=A=1\nEnvironment=\nEnvironment=B=%i C=2\n"
        "EnvironmentFile=-/etc/default/x\nUnsetEnvironment=D E\nPassEnvironment=F\n"
    )
    assert found.values == {"B": None, "C": "2"}
    assert (found.resets, found.files, dict(found.passed)) == (True, ("-/etc/default/x",), {"F": 7})
    assert found.removed == {"D": 6, "E": 6}
    assert found.cleared == {"Environment"}


@pytest.mark.parametrize("kind", ["serve_script", "launch_args", "env_file", "dropin", "template"])
def test_every_kind_is_found_by_its_name(kind: str) -> None:
    assert callable(edits.named(kind).edit)


@pytest.mark.parametrize("kind", ["shell", "systemd", "nothing", "", "../x", "shell.words"])
def test_what_is_no_kind_is_refused(kind: str) -> None:
    with pytest.raises(UsageError, match="no edit named"):
        edits.named(kind)


def test_a_name_that_a_specifier_decides_is_told_apart() -> None:
    found = dropin.read("[Service]\nEnvironment=K_%i=1 %%x=2 A=1\n")
    assert (found.values, found.unnamed) == ({"A": "1"}, {"K_%i": 2})


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        (env_file, "A=1\n" * 16_000),
        (env_file, "A=" + " x" * 30_000 + "\n"),
        (dropin, "[Service]\n" + "Environment=A=1\n" * 4_000),
        (dropin, "[Service]\nEnvironment=" + "A=1 " * 15_000 + "\n"),
        (dropin, "[Service]\nEnvironment=" + "\\\n" * 30_000),
    ],
    ids=["lines", "blanks", "settings", "words", "continuations"],
)
def test_a_file_that_is_no_persons_costs_no_more_than_it_must_and_a_longer_one_is_refused(
    kind: Any, text: str
) -> None:
    begun = time.process_time()
    with contextlib.suppress(EditRefusedError):
        kind.edit(text, set={"K": "1"}, unset=["A"])
    assert time.process_time() - begun < 10
    with pytest.raises(EditRefusedError, match="characters, at most 65536 are read"):
        kind.edit(text + "#" * 65_536, set={"K": "1"})
