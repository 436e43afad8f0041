"""`--set` and `--unset` over declared flags."""

from __future__ import annotations

import datetime

import pytest

from runbook.errors import UsageError
from runbook.inventory import overridden
from runbook.model import Budget, Flag, Host, Policy, SshTarget, Unit, Wait

_WHY = "--set on the command line"


def _host(*flags: Flag, script: str | None = "/d.sh") -> Host:
    budget = Budget(1, 1.0, 1.0)
    units = (
        Unit("prefill", "p.service", script and "/p.sh"),
        Unit("decode", "d.service", script),
        Unit("router", "r.service", url="http://127.0.0.1:30001"),
    )
    wait = Wait(budget, budget, 8, 0.0)
    return Host(
        "gpu1", "pd", "hosts/gpu1.yml", SshTarget("gpu1"), units, flags, "m", wait, (), None, Policy()
    )


def test_a_declared_flag_changes_its_value_and_keeps_units_and_owner() -> None:
    since = datetime.date(2026, 8, 14)
    before = Flag("A", "0", "race", ("decode",), owner="serving", since=since)
    other = Flag("B", None, "stale", ("decode",))
    host = overridden(_host(before, other), {"A": "1"})
    assert host.flags == (Flag("A", "1", _WHY, ("decode",), owner="serving", since=since), other)


def test_none_wants_the_flag_absent_and_empty_is_a_value() -> None:
    host = overridden(_host(Flag("A", "0", "race", ("decode",))), {"A": None, "B": ""})
    assert [(flag.name, flag.value, flag.units) for flag in host.flags] == [
        ("A", None, ("decode",)),
        ("B", "", ("prefill", "decode")),
    ]


def test_no_settings_leave_the_host_as_it_is() -> None:
    host = _host(Flag("A", "0", "race", ("decode",)))
    assert overridden(host, {}) == host


@pytest.mark.parametrize("name", ["", "1A", "A-B", "A B", "A\n", "ÄA", "$A"])
def test_what_is_no_variable_name_is_refused(name: str) -> None:
    with pytest.raises(UsageError, match="should be NAME=VALUE"):
        overridden(_host(), {name: "0"})


def test_a_launch_argument_is_sent_to_the_host_file() -> None:
    with pytest.raises(
        UsageError, match=r"--set --x: a launch argument is one unit's; declare it in hosts/gpu1.yml"
    ):
        overridden(_host(), {"--x": "1"})


@pytest.mark.parametrize("value", ["a\nb", "a\0b", "\x1b[31m"])
def test_a_value_with_control_characters_is_refused(value: str) -> None:
    with pytest.raises(UsageError, match="one line without control characters"):
        overridden(_host(), {"A": value})


def test_a_new_flag_needs_a_script_to_stand_in() -> None:
    with pytest.raises(UsageError, match="no unit of gpu1 has a script"):
        overridden(_host(script=None), {"A": "0"})
