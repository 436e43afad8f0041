from __future__ import annotations

from typing import Any

import pytest

from runbook.command_line import request
from runbook.errors import UsageError


def test_settings_keep_their_text_and_may_be_empty_or_hold_an_equals_sign() -> None:
    asked = request("deploy", set_=["A=1", "B=", "C=x=y"], unset=["D"])
    assert asked.settings == {"A": "1", "B": "", "C": "x=y", "D": None}


def test_the_dry_option_of_invoke_is_a_dry_run() -> None:
    assert request("deploy", dry=True).options.dry_run


def test_a_host_named_twice_is_one_host() -> None:
    assert request("verify", host=["a", "b", "a"]).hosts == ("a", "b")


@pytest.mark.parametrize(
    "given",
    [
        {"host": ["--yes"]},
        {"host": [""]},
        {"set_": ["A"]},
        {"set_": ["=1"]},
        {"set_": ["A=1"], "unset": ["A"]},
    ],
)
def test_a_command_line_that_makes_no_sense_is_refused(given: dict[str, Any]) -> None:
    with pytest.raises(UsageError):
        request("deploy", **given)


def test_a_flag_set_to_two_values_is_refused_and_one_set_twice_alike_is_not() -> None:
    with pytest.raises(UsageError, match="--set gives A two values"):
        request("deploy", set_=["A=1", "A=2"])
    assert request("deploy", set_=["A=1", "A=1"]).settings == {"A": "1"}


def test_an_empty_value_of_an_option_is_refused_since_it_is_not_the_option_alone() -> None:
    with pytest.raises(UsageError, match="write --set=--x for an option that stands alone"):
        request("plan", set_=["--x="])
    assert request("plan", set_=["--x", "A="]).settings == {"--x": "", "A": ""}


@pytest.mark.parametrize("grep", ["(", "(" * 5000, "a{99999999999}"])
def test_a_pattern_that_is_none_is_refused_before_any_host_is_asked(grep: str) -> None:
    with pytest.raises(UsageError, match="no regular expression"):
        request("logs", grep=grep)
