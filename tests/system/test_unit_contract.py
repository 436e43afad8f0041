"""One table of situations, asked of real systemd and of the lab's unit manager: both read the same."""

from __future__ import annotations

import re
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from runbook import errors
from runbook.probes import unit as probe
from tests.system import unitmanagers

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from tests.system.hosts import TestHost
    from tests.system.unitmanagers import UnitManager

pytestmark = pytest.mark.system

CASES = yaml.safe_load((Path(__file__).parents[1] / "cases/system/units.yml").read_text())
# systemd forgets what became of a unit once it is inactive and nothing wants it; a service in production is wanted.
ENABLED = "[Install]\nWantedBy=multi-user.target\n"
Readings = dict[str, str]
_NUMBERS = ("MainPID", "Job")
_SET = ("InvocationID", "ExecMainStartTimestampMonotonic", "StateChangeTimestampMonotonic")
_WAIT_S, _PAUSE_S = 15.0, 0.03


@pytest.fixture(scope="module")
def managers(
    hosts: tuple[TestHost, ...], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[UnitManager, UnitManager]]:
    with (
        unitmanagers.real(hosts[0]) as real,
        unitmanagers.lab(tmp_path_factory.mktemp("lab")) as lab,
    ):
        yield real, lab


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_the_lab_reads_as_real_systemd_does(
    managers: tuple[UnitManager, UnitManager], case: dict[str, Any]
) -> None:
    with ThreadPoolExecutor(2) as pool:
        real, lab = pool.map(play, managers, (case, case))
    assert {name: real[name] for name in case["want"]} == case["want"]
    assert lab == real


def test_neither_has_units_of_a_user_whose_manager_does_not_run(
    managers: tuple[UnitManager, UnitManager],
) -> None:
    asked = ("--user", "restart", "contract.service")
    assert [manager.systemctl(*asked) for manager in managers] == [1, 1]


def play(manager: UnitManager, case: Mapping[str, Any]) -> Readings:
    """Lay the unit, take the steps, and say what it reads as; nothing of it stays."""
    name = f"contract-{CASES.index(case)}.service"
    try:
        if "unit" in case:
            manager.write(name, text_of(case))
            manager.wire.call("daemon_reload")
        seen = [take(manager, name, step) for step in case["steps"]]
        # A state that passes is read in the very look that waited for it.
        return readings(manager, (seen and seen[-1]) or show(manager, name), case["want"])
    finally:
        end(manager, name)
        manager.remove(name)
        manager.systemctl("daemon-reload")
        manager.systemctl("reset-failed", name)


def text_of(case: Mapping[str, Any]) -> str:
    text = str(case["unit"])
    return text if text == "/dev/null" or case.get("enabled") is False else text + ENABLED


def end(manager: UnitManager, name: str) -> None:
    """Stop the unit without waiting for what it makes of a SIGTERM."""
    manager.systemctl("stop", "--no-block", name)
    until = time.monotonic() + _WAIT_S
    while show(manager, name)["ActiveState"] not in ("inactive", "failed"):
        assert time.monotonic() < until, f"{name} cannot be stopped"
        manager.systemctl("kill", "--signal=KILL", name)


def take(manager: UnitManager, name: str, step: Any) -> Readings | None:
    match step:
        case "remove":
            manager.remove(name)
        case {"systemctl": words}:
            manager.systemctl(*words, name)
        case {"write": text}:
            manager.write(name, text + ENABLED)
        case {"dropin": text}:
            manager.write(f"{name}.d/50-test.conf", text)
        case {"pause": seconds}:
            time.sleep(seconds)
        case {"wait": properties}:
            return wait(manager, name, properties)
        case {"call": call}:
            ask(manager, name, call, step)
        case _:
            raise ValueError(f"unknown step {step}")
    return None


def wait(manager: UnitManager, name: str, properties: Mapping[str, str]) -> Readings:
    until = time.monotonic() + _WAIT_S
    while not properties.items() <= (shown := show(manager, name)).items():
        assert time.monotonic() < until, f"waited for {properties}, found {shown}"
        time.sleep(_PAUSE_S)
    return shown


def ask(manager: UnitManager, name: str, call: str, step: Mapping[str, Any]) -> None:
    """Make a call of the helper that takes the unit; hold its answer or its error."""
    args: dict[str, Any] = {} if call == "daemon_reload" else {"unit": name}
    if "error" in step:
        with pytest.raises(getattr(errors, step["error"]), match=step["says"]):
            manager.wire.call(call, **args)
        return
    answer = manager.wire.call(call, **args)
    if "answer" in step:
        wanted = step["answer"]
        assert {key: mark(str(answer[key]), value) for key, value in wanted.items()} == wanted


def show(manager: UnitManager, name: str) -> Readings:
    return dict(manager.wire.call("units", units=[name])[name])


def readings(manager: UnitManager, shown: Readings, wanted: Mapping[str, str]) -> Readings:
    """Every property, with what differs from run to run marked, and what a probe makes of them."""
    sample = probe.judge(shown)
    found = {key: plain(manager, value) for key, value in shown.items() if key != "ControlGroup"}
    found |= {key: mark(found[key], "pid") for key in _NUMBERS}
    found |= {key: mark(found[key], "set") for key in _SET}
    found |= {key: mark(found[key], value) for key, value in wanted.items() if key in found}
    # Of the command only what it is: what became of it is told by ExecMain*.
    found["ExecStart"] = found.get("ExecStart", "").partition(" ; start_time=")[0]
    return found | {"probe": re.sub(r"MainPID \d+", "MainPID N", f"{sample}")}


def plain(manager: UnitManager, value: str) -> str:
    return value.replace(manager.directory, "DIRECTORY")


def mark(value: str, kind: str) -> str:
    """`pid` for any number above 0, `set` for anything but empty and 0; else the value itself."""
    if kind == "pid":
        return "pid" if value.isdigit() and int(value) > 0 else value
    if kind == "set":
        return "set" if value not in ("", "0") else value
    return value
