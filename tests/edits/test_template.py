"""Whole files from templates."""

from __future__ import annotations

import pytest

from runbook import shipped
from runbook.edits.template import edit, render
from runbook.errors import EditRefusedError, UsageError


def test_a_text_is_filled_in_and_keeps_its_last_newline() -> None:
    assert render("port={{ port }}\n", {"port": 30000}) == "port=30000\n"


def test_nothing_is_escaped_as_if_it_were_a_page() -> None:
    assert render("{{ x }}", {"x": "<&>'\""}) == "<&>'\""


def test_the_filter_sh_makes_one_shell_word() -> None:
    assert render("P={{ path | sh }}\n", {"path": "/a b"}) == "P='/a b'\n"


def test_an_unknown_name_is_refused_with_its_line() -> None:
    with pytest.raises(EditRefusedError, match="'port' is undefined") as refused:
        render("a\n\n{{ port }}\n", {})
    assert refused.value.line == 3


def test_a_mistake_in_the_template_is_refused_with_its_line() -> None:
    with pytest.raises(EditRefusedError, match="mistake") as refused:
        render("a\n{% if %}\n", {})
    assert refused.value.line == 2


def test_a_template_is_found_by_its_path() -> None:
    name = next(path.name for path in sorted(shipped.path("templates").glob("*.j2")))
    with pytest.raises(EditRefusedError, match="was not given"):
        render(name, {})


def test_a_template_that_does_not_exist_is_named() -> None:
    with pytest.raises(UsageError, match=r"no template 'nope\.j2'"):
        render("nope.j2", {})


def test_an_edit_replaces_whatever_was_there() -> None:
    assert edit("old", template="{{ x }}\n", variables={"x": 1}) == "1\n"
