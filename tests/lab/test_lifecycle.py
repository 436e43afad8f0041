from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import socket
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from runbook import lab as embedded
from runbook.lab import hoststate, state
from runbook.lab.errors import LabError
from runbook.lab.launch import answers, start_daemon
from runbook.lab.processes import alive, table
from runbook.lab.state import LabState, Paths
from runbook.lab.systemd import ledger

if TYPE_CHECKING:
    from tests.lab.fixtures import Shell

pytestmark = pytest.mark.real


def until(holds: object, seconds: float = 10.0) -> None:
    assert callable(holds)
    deadline = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < deadline, "did not come true in time"
        time.sleep(0.02)


def below(pid: int) -> set[int]:
    return {row.pid for row in table().values() if row.parent == pid}


def sleepers(lab: LabState) -> tuple[ledger.Entry, ...]:
    return ledger.read(Paths(lab.root).ledger)


def test_the_before_state_has_the_stale_flag_in_both_scripts_and_the_fix_in_none(fresh_lab: LabState) -> None:
    for role in ("prefill", "decode"):
        text = (Paths(fresh_lab.root).scripts / f"serve_dsv4_{role}.sh").read_text()
        assert "export SGLANG_OPT_USE_TOPK_V2=0\n" in text
        assert "SGLANG_OPT_USE_MULTI_STREAM_OVERLAP" not in text
        for name in ("SGLANG_DSV4_BF16_INDEX_K", "SGLANG_SM120_MMA_FLASHMLA", "SGLANG_SM120_TRITON_INDEXER"):
            assert f"export {name}=1\n" in text


def test_the_serve_scripts_are_sound_shell(lab: LabState) -> None:
    for script in Paths(lab.root).scripts.iterdir():
        assert subprocess.run(["bash", "-n", script], check=False).returncode == 0


def test_up_on_a_running_lab_changes_nothing(lab: LabState) -> None:
    before = embedded.status(lab.root)
    said: list[str] = []
    assert embedded.up(lab.root, say=said.append) == before
    assert said == []


def test_two_callers_at_once_bring_up_one_lab(small_lab: LabState) -> None:
    def up(_: int) -> int:
        return embedded.up(small_lab.root, say=lambda line: None, settle=lambda lab: ()).pid

    try:
        with ThreadPoolExecutor(3) as pool:
            assert len(set(pool.map(up, range(3)))) == 1
    finally:
        embedded.down(small_lab.root)


def test_a_second_daemon_for_the_same_lab_refuses(small_lab: LabState) -> None:
    start_daemon(small_lab)
    try:
        with pytest.raises(LabError, match="another daemon serves this lab"):
            start_daemon(small_lab)
    finally:
        embedded.down(small_lab.root)


def test_a_taken_port_is_named(small_lab: LabState) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", small_lab.ssh_port))
        other.listen()
        with pytest.raises(LabError, match=f"port {small_lab.ssh_port} .* is taken"):
            start_daemon(small_lab)
    assert embedded.status(small_lab.root) is None


def test_down_ends_every_process_and_keeps_the_files(small_lab: LabState) -> None:
    start_daemon(small_lab)
    until(lambda: len(sleepers(small_lab)) == 1)
    processes = sleepers(small_lab)[0].processes
    assert embedded.down(small_lab.root)
    assert not any(map(alive, processes))
    assert embedded.status(small_lab.root) is None
    assert (Paths(small_lab.root).units / "sleeper.service").exists()
    assert not embedded.down(small_lab.root)


def test_a_killed_daemon_takes_its_units_along(small_lab: LabState) -> None:
    daemon = start_daemon(small_lab)
    until(lambda: len(sleepers(small_lab)) == 1)
    shim, main = sleepers(small_lab)[0].processes
    until(lambda: len(below(main.pid)) == 1)
    (detached,) = below(main.pid)
    os.kill(daemon, signal.SIGKILL)
    until(lambda: not alive(shim) and not alive(main) and detached not in table())
    socket_path = Path(Paths(small_lab.root).control.read_text())
    assert socket_path.exists()
    embedded.down(small_lab.root)
    assert not socket_path.parent.exists()


def test_up_after_a_killed_daemon_and_shim_ends_the_orphans_and_starts_anew(small_lab: LabState) -> None:
    daemon = start_daemon(small_lab)
    until(lambda: len(sleepers(small_lab)) == 1)
    shim, main = sleepers(small_lab)[0].processes
    os.kill(shim.pid, signal.SIGSTOP)  # so that it cannot clean up when the daemon goes
    os.kill(daemon, signal.SIGKILL)
    until(lambda: embedded.status(small_lab.root) is None)
    assert alive(main)
    try:
        start_daemon(small_lab)
        assert not alive(main)
        assert not alive(shim)
        until(lambda: [entry.unit for entry in sleepers(small_lab)] == ["sleeper.service"])
    finally:
        embedded.down(small_lab.root)


def test_a_daemon_that_is_stuck_is_replaced(small_lab: LabState, monkeypatch: pytest.MonkeyPatch) -> None:
    stuck = start_daemon(small_lab)
    os.kill(stuck, signal.SIGSTOP)
    monkeypatch.setattr("runbook.lab.lifecycle.answers", lambda lab: answers(lab, timeout_s=0.2))
    try:
        assert embedded.up(small_lab.root, say=print, settle=lambda lab: ()).pid != stuck
        assert stuck not in table()
    finally:
        embedded.down(small_lab.root)


def test_a_lab_laid_with_an_interpreter_that_is_gone_says_so(small_lab: LabState) -> None:
    state.save(small_lab._replace(python="/nonexistent/python"))
    with pytest.raises(LabError, match=r"laid with /nonexistent/python, which is gone; .*lab.up --reset"):
        embedded.up(small_lab.root, say=print)


def test_a_reset_lays_the_before_state_and_forgets_the_hosts_releases(small_lab: LabState) -> None:
    paths = Paths(small_lab.root)
    kept = hoststate.of(small_lab.root)
    kept.mkdir(mode=0o700)
    (kept / "current").write_text("")
    said: list[str] = []
    with socket.socket() as other:
        other.bind(("127.0.0.1", small_lab.ports["decode"]))
        other.listen()
        try:
            up = embedded.up(small_lab.root, say=said.append, reset=True, settle=lambda lab: ())
        finally:
            embedded.down(small_lab.root)
    assert said == [f"laid the before state in {small_lab.root}"]
    assert not kept.exists()
    assert sorted(path.name for path in paths.units.iterdir())[0] == "sglang-dsv4-decode.service"
    assert up.ports["decode"] != small_lab.ports["decode"]
    assert up.ports["router"] == small_lab.ports["router"]


def test_a_lab_removed_from_under_its_daemon_ends_by_itself(small_lab: LabState) -> None:
    daemon = start_daemon(small_lab)
    until(lambda: len(sleepers(small_lab)) == 1)
    processes = sleepers(small_lab)[0].processes
    shutil.rmtree(small_lab.root)
    until(lambda: daemon not in table() and not any(map(alive, processes)))
    assert not small_lab.root.exists()


def test_a_port_of_a_server_taken_while_the_lab_was_down_is_named(small_lab: LabState) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", small_lab.ports["decode"]))
        other.listen()
        with pytest.raises(
            LabError, match=rf"taken by another program: {small_lab.ports['decode']} \(decode\)"
        ):
            embedded.up(small_lab.root, say=print)


def test_the_ssh_port_gives_way_when_another_program_took_it(small_lab: LabState) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", small_lab.ssh_port))
        other.listen()
        try:
            up = embedded.up(small_lab.root, say=print, settle=lambda lab: ())
            assert up.ssh_port != small_lab.ssh_port
            assert up.ports == small_lab.ports
        finally:
            embedded.down(small_lab.root)


def test_down_hangs_up_and_what_ran_over_ssh_sees_the_end_of_its_input(
    small_lab: LabState, tmp_path: Path
) -> None:
    from tests.lab.fixtures import Shell

    start_daemon(small_lab)
    client = subprocess.Popen(
        [*Shell(small_lab).argv(), f"echo ready; cat >/dev/null; echo seen >{tmp_path}/mark"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    with client:
        assert client.stdout
        assert client.stdout.readline() == b"ready\n"
        assert embedded.down(small_lab.root)
        assert (tmp_path / "mark").read_text() == "seen\n"


def test_a_reset_that_was_cut_off_is_done_again_by_the_next_up(small_lab: LabState) -> None:
    from runbook.lab import lifecycle

    paths = Paths(small_lab.root)
    lifecycle._clear(paths)
    paths.units.mkdir()
    paths.scripts.mkdir(parents=True)
    said: list[str] = []
    try:
        embedded.up(small_lab.root, say=said.append, settle=lambda lab: ())
        embedded.up(small_lab.root, say=said.append, settle=lambda lab: ())
    finally:
        embedded.down(small_lab.root)
    assert said == [f"laid the before state in {small_lab.root}"]
    assert (paths.scripts / "serve_dsv4_decode.sh").exists()


@pytest.mark.parametrize("name", ["client_ed25519", "client_ed25519.pub", "host_ed25519", "known_hosts"])
def test_a_key_file_that_a_crash_emptied_is_made_anew(small_lab: LabState, name: str) -> None:
    from runbook.lab.keys import ensure_keys

    keys = Paths(small_lab.root).keys
    (keys / name).write_bytes(b"")
    ensure_keys(keys, small_lab.ssh_port)
    assert (keys / name).read_bytes()
    start_daemon(small_lab)
    embedded.down(small_lab.root)


def test_a_place_where_no_lab_can_be_kept_is_said(tmp_path: Path) -> None:
    (tmp_path / ".lab").write_text("in the way")
    with pytest.raises(LabError, match=r"the lab in .*/\.lab cannot be kept: .*File exists"):
        embedded.up(tmp_path / ".lab", say=print)


def test_a_daemon_record_that_is_no_record_counts_as_down(small_lab: LabState) -> None:
    Paths(small_lab.root).run.mkdir()
    Paths(small_lab.root).daemon.write_text("[]")
    assert embedded.status(small_lab.root) is None


def test_a_lab_that_was_moved_is_refused(small_lab: LabState, tmp_path: Path) -> None:
    moved = tmp_path.with_name("elsewhere")
    tmp_path.rename(moved)
    with pytest.raises(LabError, match=r"was laid in .* and then moved"):
        embedded.up(moved, say=lambda line: None)


def test_the_state_file_that_was_cut_off_counts_as_none(tmp_path: Path) -> None:
    (tmp_path / "lab.json").write_text('{"root": "/x", "ports": {')
    assert state.load(tmp_path) is None


def test_a_daemon_record_of_another_process_counts_as_down(small_lab: LabState) -> None:
    Paths(small_lab.root).run.mkdir()
    Paths(small_lab.root).daemon.write_text(json.dumps({"pid": os.getpid(), "started": "other-boot:1"}))
    assert embedded.status(small_lab.root) is None
    assert not embedded.down(small_lab.root)


def test_chat_through_the_router_works_and_decode_restarts(lab: LabState, shell: Shell) -> None:
    from runbook.lab.serving import await_serving

    before = shell.properties("sglang-dsv4-decode", "MainPID")["MainPID"]
    assert shell.run("systemctl restart sglang-dsv4-decode").returncode == 0
    assert list(await_serving(lab)) == []
    assert shell.properties("sglang-dsv4-decode", "MainPID")["MainPID"] != before


def test_nothing_of_the_lab_listens_beyond_loopback(lab: LabState) -> None:
    with contextlib.suppress(FileNotFoundError):
        table_text = Path("/proc/net/tcp").read_text().splitlines()[1:]
        listening = {
            (address, int(port, 16))
            for line in table_text
            for address, port in [line.split()[1].split(":")]
            if line.split()[3] == "0A"
        }
        ours = {lab.ssh_port, *lab.ports.values()}
        assert {address for address, port in listening if port in ours} <= {"0100007F"}
