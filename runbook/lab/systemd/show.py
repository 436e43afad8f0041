"""What `systemctl show` prints of a unit: names, order and formats as systemd 252 has them."""

from __future__ import annotations

import datetime
import time
from typing import TYPE_CHECKING

from runbook.lab.systemd.exits import exit_name
from runbook.lab.systemd.words import format_span

if TYPE_CHECKING:
    from collections.abc import Collection

    from runbook.lab.systemd.service import Service
    from runbook.lab.systemd.unitfile import UnitFile


def properties_of(service: Service, *, stale: bool) -> dict[str, str]:
    """Every property the lab knows; `stale`: the unit's files changed since they were read."""
    unit = service.unit
    return {
        "Type": unit.type if unit.load_state in ("loaded", "bad-setting") else "",
        "Restart": unit.restart,
        "RestartUSec": format_span(unit.restart_s),
        "TimeoutStartUSec": format_span(unit.start_s if unit.type != "oneshot" else float("inf")),
        "TimeoutStopUSec": format_span(unit.stop_s),
        "RemainAfterExit": _boolean(unit.remain_after_exit),
        "MainPID": str(service.main_pid),
        "Result": service.result,
        "NRestarts": str(service.n_restarts),
        "ExecMainStartTimestamp": _stamp(service.exec_start_us),
        "ExecMainStartTimestampMonotonic": str(service.exec_start_us),
        "ExecMainExitTimestamp": _stamp(service.exec_exit_us),
        "ExecMainExitTimestampMonotonic": str(service.exec_exit_us),
        "ExecMainPID": str(service.exec_pid),
        "ExecMainCode": str(service.exec_code),
        "ExecMainStatus": str(service.exec_status),
        **({"ExecStart": _exec_start(service)} if unit.argv else {}),
        "ControlGroup": "",  # the lab has none of its own; see docs/architecture.md, Process evidence
        "Environment": " ".join(_quoted(f"{name}={value}") for name, value in unit.environment.items()),
        **_environment_files(unit),
        "WorkingDirectory": unit.working_directory if unit.working_directory != "/" else "",
        "KillMode": unit.kill_mode,
        "Id": unit.name,
        "Names": unit.name,
        "WantedBy": " ".join(unit.wanted_by),
        "After": " ".join(unit.after),
        "Description": unit.description or unit.name,
        "LoadState": unit.load_state,
        "ActiveState": service.active,
        "SubState": service.sub,
        "FragmentPath": unit.fragment,
        "DropInPaths": " ".join(unit.dropins),
        "UnitFileState": _file_state(unit),
        "StateChangeTimestamp": _stamp(service.changed_us),
        "StateChangeTimestampMonotonic": str(service.changed_us),
        "Job": "1" if service.job else "",
        "NeedDaemonReload": _boolean(stale),
        "LoadError": _load_error(unit),
        "StartLimitIntervalUSec": format_span(unit.interval_s),
        "StartLimitBurst": str(unit.burst),
        "InvocationID": service.invocation,
    }


def render(
    properties: dict[str, str], wanted: Collection[str], *, value_only: bool = False, empty: bool = False
) -> str:
    """Lines in systemd's own order, whatever order they were asked in; unknown names are left out.

    Where none is `wanted` all are shown, but the empty ones only with `empty`.
    """
    shown = wanted or {name for name, value in properties.items() if value or empty}
    lines = (
        value if value_only else f"{name}={value}" for name, value in properties.items() if name in shown
    )
    return "".join(f"{line}\n" for line in lines)


def _load_error(unit: UnitFile) -> str:
    errors = {
        "not-found": f'NoSuchUnit "Unit {unit.name} not found."',
        "masked": f'UnitMasked "Unit {unit.name} is masked."',
        "bad-setting": f'BadUnitSetting "Unit {unit.name} has a bad unit file setting."',
    }
    error = errors.get(unit.load_state)
    return f"org.freedesktop.systemd1.{error}" if error else ""


def _boolean(value: bool) -> str:
    return "yes" if value else "no"


def _file_state(unit: UnitFile) -> str:
    if unit.load_state == "masked":
        return "masked"
    if unit.load_state not in ("loaded", "bad-setting"):
        return ""
    return "enabled" if unit.wanted_by else "static"


def _stamp(us: int) -> str:
    """Wall time of a CLOCK_MONOTONIC time, `Mon 2026-11-30 03:27:00 UTC`; empty for never."""
    if not us:
        return ""
    seconds = time.time() - (time.monotonic() - us / 1_000_000)
    return f"{datetime.datetime.fromtimestamp(seconds).astimezone():%a %Y-%m-%d %H:%M:%S %Z}"


def _quoted(assignment: str) -> str:
    if not any(char.isspace() or char in "\"'\\" for char in assignment):
        return assignment
    escaped = assignment.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def _environment_files(unit: UnitFile) -> dict[str, str]:
    lines = [
        f"{source.path} (ignore_errors={_boolean(source.optional)})" for source in unit.environment_files
    ]
    return {"EnvironmentFiles": "\nEnvironmentFiles=".join(lines)} if lines else {}


def _exec_start(service: Service) -> str:
    unit = service.unit
    code = {0: "(null)", 1: "exited", 2: "killed", 3: "dumped"}[service.exec_code]
    status = exit_name(service.exec_code, service.exec_status) if service.exec_code else "0/0"
    start, stop = (f"[{_stamp(us) or 'n/a'}]" for us in (service.exec_start_us, service.exec_exit_us))
    return (
        f"{{ path={unit.argv[0]} ; argv[]={' '.join(unit.argv)} ; ignore_errors={_boolean(unit.ignore_failure)} ; "
        f"start_time={start} ; stop_time={stop} ; pid={service.exec_pid} ; code={code} ; status={status} }}"
    )
