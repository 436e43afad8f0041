from __future__ import annotations

from pathlib import Path

import pytest

from runbook.lab.systemd.service import Service
from runbook.lab.systemd.show import properties_of, render
from runbook.lab.systemd.unitfile import EnvironmentFile, UnitFile

CASES = Path(__file__).parents[2] / "cases/lab"  # what systemd 252 printed for such units
RUNNING = Service(
    UnitFile(
        "a.service",
        "loaded",
        fragment="/etc/systemd/system/a.service",
        description="A thing",
        argv=("/bin/sleep", "1000"),
        environment={"A": "1", "B": "two words"},
        environment_files=(EnvironmentFile("/etc/nope", optional=True),),
        working_directory="/tmp",
        restart="on-failure",
        restart_s=2.0,
        stop_s=10.0,
    ),
    sub="running",
    main_pid=59,
    exec_pid=59,
    exec_start_us=2047796221,
    changed_us=2047796677,
    invocation="2e0a0bbf4c834ae8a9f82d3d029218c3",
)


def test_a_unit_that_is_not_there_is_shown_as_systemd_shows_it() -> None:
    shown = render(properties_of(Service(UnitFile("nope.service")), stale=False), (), empty=True)
    assert shown == (CASES / "show-not-found.txt").read_text()


def test_a_running_unit_is_shown_as_systemd_shows_it() -> None:
    want = (CASES / "show-running.txt").read_text()
    names = {line.partition("=")[0] for line in want.splitlines()}
    assert render(properties_of(RUNNING, stale=False), names) == want


def test_the_order_is_systemds_and_not_the_askers_and_unknown_names_are_left_out() -> None:
    shown = render(properties_of(RUNNING, stale=True), ["NeedDaemonReload", "Nope", "Id", "MainPID"])
    assert shown == "MainPID=59\nId=a.service\nNeedDaemonReload=yes\n"


def test_values_alone() -> None:
    assert (
        render(properties_of(RUNNING, stale=False), ["MainPID", "Id"], value_only=True) == "59\na.service\n"
    )


def test_without_a_choice_empty_properties_are_hidden() -> None:
    assert "ControlGroup=" not in render(properties_of(RUNNING, stale=False), ())


@pytest.mark.parametrize(
    ("code", "status", "want"),
    [
        (0, 0, "code=(null) ; status=0/0 }"),
        (1, 3, "code=exited ; status=3/NOTIMPLEMENTED }"),
        (2, 15, "code=killed ; status=15/TERM }"),
    ],
)
def test_the_last_command_and_its_end(code: int, status: int, want: str) -> None:
    from dataclasses import replace

    service = replace(RUNNING, exec_code=code, exec_status=status)
    shown = properties_of(service, stale=False)["ExecStart"]
    assert shown.startswith("{ path=/bin/sleep ; argv[]=/bin/sleep 1000 ; ignore_errors=no ; start_time=[")
    assert shown.endswith(f"pid=59 ; {want}")
