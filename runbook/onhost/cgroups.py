"""Which processes are a unit's: those in its control group (v1, v2 or hybrid), else MainPID's descendants."""

from __future__ import annotations

import os
from typing import NamedTuple


class Process(NamedTuple):
    """A line of the process table. `start_ticks` is clock ticks after boot and, with the pid, its identity."""

    pid: int
    parent: int
    start_ticks: int
    comm: str


def table(proc: str) -> dict[int, Process]:
    """Every process, by pid; empty where the machine shows no process file system."""
    try:
        pids = [int(name) for name in os.listdir(proc) if name.isdigit()]
    except OSError:
        return {}
    found = (process(proc, pid) for pid in pids)
    return {one.pid: one for one in found if one is not None}


def process(proc: str, pid: int) -> Process | None:
    """One process, None where it is gone."""
    try:
        with open(f"{proc}/{pid}/stat", "rb") as file:
            return _parse(pid, file.read())
    except (OSError, ValueError, IndexError):
        return None


def _parse(pid: int, text: bytes) -> Process:
    # comm may hold spaces and brackets: it ends at the last one (proc(5)).
    head, _, tail = text.rpartition(b")")
    fields = tail.split()
    comm = head.partition(b"(")[2].decode("utf-8", "replace")
    return Process(pid, parent=int(fields[1]), start_ticks=int(fields[19]), comm=comm)


def group_of(proc: str, pid: int) -> str | None:
    """The path of a process's group in systemd's own hierarchy; None where there is none to see."""
    try:
        with open(f"{proc}/{pid}/cgroup", encoding="utf-8", errors="surrogateescape") as file:
            return _systemd_path(file.read())
    except OSError:
        return None


def _systemd_path(text: str) -> str | None:
    """On v1 and hybrid hosts the named hierarchy is systemd's, on v2 the only one (cgroups(7))."""
    paths = {}
    for line in text.splitlines():
        _, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        paths[controllers] = path
    return paths.get("name=systemd", paths.get(""))


def members(proc: str, group: str, main_pid: int, processes: dict[int, Process]) -> tuple[list[int], str]:
    """The unit's pids, MainPID and then the oldest first, and what stood in for its group where it has none."""
    found = _in_group(proc, group, processes) if group not in ("", "/") else []
    if found:
        return _ordered(found, main_pid, processes), ""
    inherited = descendants(main_pid, processes) if main_pid else []
    return _ordered(inherited, main_pid, processes), "no control group of its own: descendants of MainPID"


def _in_group(proc: str, group: str, processes: dict[int, Process]) -> list[int]:
    wanted = _root(proc) + group
    groups = {pid: group_of(proc, pid) or "" for pid in processes}
    return [pid for pid, path in groups.items() if path == wanted or path.startswith(f"{wanted}/")]


def _root(proc: str) -> str:
    """What stands before systemd's paths: inside a container PID 1 need not be at the root."""
    path = group_of(proc, 1) or ""
    return path[: -len("/init.scope")] if path.endswith("/init.scope") else ""


def _ordered(pids: list[int], main_pid: int, processes: dict[int, Process]) -> list[int]:
    return sorted(pids, key=lambda pid: (pid != main_pid, processes[pid].start_ticks, pid))


def descendants(pid: int, processes: dict[int, Process]) -> list[int]:
    """A process and all below it."""
    children: dict[int, list[int]] = {}
    for one in processes.values():
        children.setdefault(one.parent, []).append(one.pid)
    found = [pid] if pid in processes else []
    for one_pid in found:
        found.extend(children.get(one_pid, []))
    return found
