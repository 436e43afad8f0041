"""The unit manager with real processes: fast scripts, no SSH, no daemon."""

from __future__ import annotations

import asyncio
import os
import signal
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import pytest

from runbook.lab.processes import alive, family, identify, table
from runbook.lab.systemd import ledger, systemctl
from runbook.lab.systemd.journal import Journal, Query
from runbook.lab.systemd.unitfile import UnitFile
from runbook.lab.systemd.units import Units, start_order

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Coroutine
    from pathlib import Path

    from runbook.lab.systemd.answer import Answer

pytestmark = pytest.mark.real


class Bench:
    """A directory of units, and the manager at work on it."""

    def __init__(self, root: Path) -> None:
        self.root = root
        (root / "journal").mkdir()
        self.journal = Journal(root / "journal")
        self.units = Units(
            root, self.journal, root / "ledger.json", {"PATH": os.environ["PATH"], "MANAGER": "1"}
        )

    def write(self, name: str, command: str, *settings: str, section: str = "") -> None:
        lines = ["[Service]", f"ExecStart={command}", *settings, section]
        (self.root / f"{name}.service").write_text("\n".join(lines) + "\n")

    async def ctl(self, *argv: str) -> Answer:
        return await systemctl.answer(self.units, self.journal, argv)

    async def show(self, name: str, *properties: str) -> str:
        answer = await self.ctl("show", "--value", "-p", ",".join(properties), name)
        return answer.out.replace("\n", " ").strip()

    def log(self, name: str) -> list[str]:
        return [record.text for record in self.journal.read(Query((f"{name}.service",)))]

    async def until(self, holds: Callable[[], bool]) -> None:
        async with asyncio.timeout(10):
            while not holds():
                await asyncio.sleep(0.01)

    async def state(self, name: str, sub: str) -> None:
        await self.until(lambda: self.units.get(f"{name}.service").sub == sub)

    def main_pid(self, name: str) -> int:
        return self.units.get(f"{name}.service").main_pid


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


@asynccontextmanager
async def _stopped_at_last(bench: Bench) -> AsyncIterator[None]:
    try:
        yield
    finally:
        await bench.units.stop_all()


def run(bench: Bench, story: Coroutine[None, None, None]) -> None:
    async def whole() -> None:
        async with _stopped_at_last(bench):
            await story

    asyncio.run(whole())


def children(pid: int) -> list[int]:
    return [row.pid for row in table().values() if row.parent == pid]


def test_start_stop_and_what_is_told_of_it(bench: Bench) -> None:
    bench.write("a", "/bin/sleep 1000")

    async def story() -> None:
        assert (await bench.ctl("is-active", "a")).out == "inactive\n"
        assert (await bench.ctl("start", "a")).code == 0
        assert (await bench.ctl("is-active", "a")).code == 0
        main = identify(bench.main_pid("a"))
        assert main
        assert await bench.show("a", "MainPID", "ActiveState", "SubState") == f"{main.pid} active running"
        assert (await bench.ctl("stop", "a")).code == 0
        assert not alive(main)
        assert await bench.show("a", "MainPID", "SubState", "Result") == "0 success dead"
        assert bench.log("a")[0] == "Started a.service."

    run(bench, story())


def test_output_goes_to_the_journal_in_lines(bench: Bench) -> None:
    bench.write("a", "/bin/sh -c 'echo out; echo err >&2; printf unfinished'")

    async def story() -> None:
        await bench.ctl("start", "a")
        await bench.state("a", "dead")
        await bench.until(lambda: "unfinished" in bench.log("a"))
        assert [line for line in bench.log("a") if "a.service" not in line] == ["out", "err", "unfinished"]

    run(bench, story())


def test_the_environment_is_the_managers_then_the_units_then_the_files(bench: Bench) -> None:
    (bench.root / "env").write_text("A=file\n")
    bench.write("a", "/usr/bin/env", "Environment=A=unit B=unit", f"EnvironmentFile={bench.root}/env")

    async def story() -> None:
        await bench.ctl("start", "a")
        await bench.state("a", "dead")
        await bench.until(lambda: "A=file" in bench.log("a"))
        seen = dict(line.split("=", 1) for line in bench.log("a") if "=" in line)
        assert (seen["A"], seen["B"], seen["MANAGER"]) == ("file", "unit", "1")
        assert seen["INVOCATION_ID"] == bench.units.get("a.service").invocation

    run(bench, story())


def test_a_missing_environment_file_fails_the_start(bench: Bench) -> None:
    bench.write("a", "/bin/sleep 1000", "EnvironmentFile=/nonexistent/env", "Type=exec")

    async def story() -> None:
        assert (await bench.ctl("start", "a")).code == 1
        assert await bench.show("a", "Result", "SubState") == "resources failed"

    run(bench, story())


def test_every_descendant_is_stopped_however_it_detached_itself(bench: Bench) -> None:
    bench.write("a", "/bin/sh -c 'setsid setsid sleep 1000 & nohup sleep 1001 & exec sleep 1002'")

    async def story() -> None:
        await bench.ctl("start", "a")
        ledger_path = bench.root / "ledger.json"
        await bench.until(lambda: len(ledger.read(ledger_path)) == 1)
        shim = ledger.read(ledger_path)[0].processes[0]
        await bench.until(lambda: len(family([shim], table())) == 4)
        everyone = {process.pid for process in family([shim], table())} - {shim.pid}
        await bench.ctl("stop", "a")
        assert not everyone & set(table())

    run(bench, story())


def test_a_unit_that_ignores_sigterm_is_killed_after_its_time(bench: Bench) -> None:
    bench.write(
        "a", "/bin/sh -c 'trap \"\" TERM; echo ready; while :; do sleep 0.05; done'", "TimeoutStopSec=300ms"
    )

    async def story() -> None:
        await bench.ctl("start", "a")
        await bench.until(lambda: "ready" in bench.log("a"))
        stop = asyncio.ensure_future(bench.ctl("stop", "a"))
        await bench.state("a", "stop-sigterm")
        assert (await bench.ctl("is-active", "a")).out == "deactivating\n"
        assert (await stop).code == 0
        assert (
            await bench.show("a", "Result", "ExecMainCode", "ExecMainStatus", "SubState")
            == "timeout 2 9 failed"
        )
        assert "a.service: State 'stop-sigterm' timed out. Killing." in bench.log("a")

    run(bench, story())


def test_what_a_dead_main_process_leaves_behind_is_ended_before_the_unit_is_dead(bench: Bench) -> None:
    bench.write("a", "/bin/sh -c 'sleep 1000 & echo $!; exit 3'")

    async def story() -> None:
        await bench.ctl("start", "a")
        await bench.state("a", "failed")
        left = next(int(line) for line in bench.log("a") if line.isdigit())
        assert identify(left) is None
        assert await bench.show("a", "Result", "ExecMainCode", "ExecMainStatus") == "exit-code 1 3"

    run(bench, story())


def test_a_crash_loop_reaches_the_start_limit(bench: Bench) -> None:
    bench.write("a", "/bin/sh -c 'exit 1'", "Restart=always", "RestartSec=10ms")

    async def story() -> None:
        assert (await bench.ctl("start", "a")).code == 0
        await bench.state("a", "failed")
        assert await bench.show("a", "NRestarts", "Result") == "exit-code 5"
        again = await bench.ctl("start", "a")
        assert again.code == 1
        assert again.err.startswith("Job for a.service failed because")
        assert (await bench.ctl("reset-failed", "a")).code == 0
        assert (await bench.ctl("start", "a")).code == 0

    run(bench, story())


def test_a_killed_main_process_is_restarted_with_a_new_pid_and_counted(bench: Bench) -> None:
    bench.write("a", "/bin/sleep 1000", "Restart=on-failure", "RestartSec=10ms")

    async def story() -> None:
        await bench.ctl("start", "a")
        first, invocation = bench.main_pid("a"), await bench.show("a", "InvocationID")
        await bench.ctl("kill", "-s", "KILL", "a")
        await bench.until(lambda: bench.main_pid("a") not in (0, first))
        assert await bench.show("a", "NRestarts", "SubState", "Result") == "success 1 running"
        assert await bench.show("a", "InvocationID") != invocation

    run(bench, story())


def test_a_restart_keeps_nothing_of_the_old_processes(bench: Bench) -> None:
    bench.write("a", "/bin/sleep 1000")

    async def story() -> None:
        await bench.ctl("restart", "a")
        first = identify(bench.main_pid("a"))
        await bench.ctl("restart", "a")
        second = identify(bench.main_pid("a"))
        assert first
        assert second
        assert first != second
        assert not alive(first)
        assert await bench.show("a", "NRestarts") == "0"
        await bench.ctl("stop", "a")
        assert not alive(second)

    run(bench, story())


def test_no_block_returns_while_the_job_runs(bench: Bench) -> None:
    bench.write(
        "a", "/bin/sh -c 'trap \"\" TERM; echo ready; while :; do sleep 0.05; done'", "TimeoutStopSec=300ms"
    )

    async def story() -> None:
        await bench.ctl("start", "a")
        await bench.until(lambda: "ready" in bench.log("a"))
        assert (await bench.ctl("restart", "--no-block", "a")).code == 0
        assert await bench.show("a", "ActiveState") == "deactivating"
        await bench.state("a", "running")

    run(bench, story())


def test_a_stop_takes_the_place_of_a_restart_in_progress(bench: Bench) -> None:
    bench.write(
        "a", "/bin/sh -c 'trap \"\" TERM; echo ready; while :; do sleep 0.05; done'", "TimeoutStopSec=200ms"
    )

    async def story() -> None:
        await bench.ctl("start", "a")
        await bench.until(lambda: "ready" in bench.log("a"))
        restart = asyncio.ensure_future(bench.ctl("restart", "a"))
        await bench.state("a", "stop-sigterm")
        assert (await bench.ctl("stop", "a")).code == 0
        assert (await restart).err == "Job for a.service canceled.\n"
        assert await bench.show("a", "ActiveState") == "failed"

    run(bench, story())


def test_an_edited_unit_needs_a_daemon_reload(bench: Bench) -> None:
    bench.write("a", "/bin/sleep 1000")

    async def story() -> None:
        await bench.ctl("start", "a")
        assert await bench.show("a", "NeedDaemonReload", "Description") == "a.service no"
        bench.write("a", "/bin/sleep 1001", section="[Unit]\nDescription=Changed")
        os.utime(bench.root / "a.service", ns=(1, 1))
        assert await bench.show("a", "NeedDaemonReload", "Description") == "a.service yes"
        pid = bench.main_pid("a")
        await bench.ctl("daemon-reload")
        assert await bench.show("a", "NeedDaemonReload", "Description") == "Changed no"
        assert bench.main_pid("a") == pid
        await bench.ctl("restart", "a")
        assert "1001" in await bench.show("a", "ExecStart")

    run(bench, story())


@pytest.mark.parametrize("kind", ["simple", "exec"])
def test_a_program_that_is_not_there(bench: Bench, kind: str) -> None:
    bench.write("a", "/nonexistent/program", f"Type={kind}")

    async def story() -> None:
        assert (await bench.ctl("start", "a")).code == (1 if kind == "exec" else 0)
        await bench.state("a", "failed")
        assert await bench.show("a", "ExecMainStatus", "Result") == "exit-code 203"
        assert "Failed at step EXEC spawning /nonexistent/program: No such file or directory" in bench.log(
            "a"
        )
        assert "a.service: Main process exited, code=exited, status=203/EXEC" in bench.log("a")

    run(bench, story())


def test_a_directory_that_is_not_there(bench: Bench) -> None:
    bench.write("a", "/bin/true", "WorkingDirectory=/nonexistent")

    async def story() -> None:
        await bench.ctl("start", "a")
        await bench.state("a", "failed")
        assert await bench.show("a", "ExecMainStatus") == "200"

    run(bench, story())


def test_a_killed_shim_does_not_leave_the_unit_behind(bench: Bench) -> None:
    bench.write("a", "/bin/sh -c 'setsid sleep 1000 & exec sleep 1001'")

    async def story() -> None:
        await bench.ctl("start", "a")
        main = bench.main_pid("a")
        await bench.until(lambda: len(children(main)) == 1)
        (detached,) = children(main)
        os.kill(ledger.read(bench.root / "ledger.json")[0].processes[0].pid, signal.SIGKILL)
        await bench.state("a", "failed")
        assert await bench.show("a", "Result") == "signal"
        assert not {main, detached} & set(table())

    run(bench, story())


@pytest.mark.parametrize(
    ("argv", "out", "err", "code"),
    [
        (["start", "nope"], "", "Failed to start nope.service: Unit nope.service not found.\n", 5),
        (["restart", "nope"], "", "Failed to restart nope.service: Unit nope.service not found.\n", 5),
        (["stop", "nope"], "", "Failed to stop nope.service: Unit nope.service not loaded.\n", 5),
        (["start", "masked"], "", "Failed to start masked.service: Unit masked.service is masked.\n", 1),
        (["stop", "masked"], "", "", 0),
        (["is-active", "nope"], "inactive\n", "", 3),
        (["is-failed", "nope"], "inactive\n", "", 1),
        (["cat", "nope"], "", "No files found for nope.service.\n", 1),
        (["status", "nope"], "", "Unit nope.service could not be found.\n", 4),
        (["kill", "nope"], "", "Failed to kill unit nope.service: Unit nope.service not loaded.\n", 1),
        (["kill", "-s", "BOGUS", "a"], "", "Failed to parse signal string BOGUS.\n", 1),
        (["reset-failed", "nope"], "", "Failed to reset failed state of unit nope.service: Unit nope.service not loaded.\n", 1),
        (["frob"], "", "Unknown command verb frob.\n", 1),
        (["show", "--nope", "a"], "", "systemctl: option --nope not recognized\n", 1),
        (["start"], "", "Too few arguments.\n", 1),
        (["start", "../a"], "", "Invalid unit name '../a'.\n", 1),
        (["show", "-p", "Id", "--value", "a", "nope.service"], "a.service\n\nnope.service\n", "", 0),
        (["show", "--property=Id", "-p", "LoadState", "--no-pager", "--", "masked"],
         "Id=masked.service\nLoadState=masked\n", "", 0),
        (["daemon-reload"], "", "", 0),
        (["--user", "restart", "a"], "", "Failed to connect to bus: No such file or directory\n", 1),
        (["show", "--user", "-p", "MainPID", "a"], "", "Failed to connect to bus: No such file or directory\n", 1),
    ],
)  # fmt: skip
def test_answers_are_systemctls(bench: Bench, argv: list[str], out: str, err: str, code: int) -> None:
    bench.write("a", "/bin/sleep 1000")
    (bench.root / "masked.service").symlink_to("/dev/null")

    async def story() -> None:
        said = await bench.ctl(*argv)
        assert (said.out, said.err, said.code) == (out, err, code)

    run(bench, story())


def test_status_shows_the_journals_end_and_exits_3_when_not_active(bench: Bench) -> None:
    bench.write("a", "/bin/sh -c 'echo boom; exit 1'", section="[Unit]\nDescription=A thing")

    async def story() -> None:
        await bench.ctl("start", "a")
        await bench.state("a", "failed")
        said = await bench.ctl("status", "--no-pager", "a")
        assert said.code == 3
        assert said.out.startswith("× a.service - A thing\n")
        assert "Active: failed (failed) (Result: exit-code) since" in said.out
        assert "boom\n" in said.out

    run(bench, story())


def test_enabled_units_start_in_the_order_of_after(bench: Bench) -> None:
    for name, after in (("c", ""), ("b", "a.service c.service"), ("a", "c.service")):
        bench.write(
            name, "/bin/true", section=f"[Unit]\nAfter={after}\n[Install]\nWantedBy=multi-user.target"
        )
    bench.write("d", "/bin/true")
    assert bench.units.enabled() == ("c.service", "a.service", "b.service")


def test_a_circle_of_after_is_cut() -> None:
    units = [
        UnitFile("a", after=("b",)),
        UnitFile("b", after=("c",)),
        UnitFile("c", after=("a", "elsewhere")),
    ]
    assert start_order(units) == ("c", "b", "a")
