from __future__ import annotations

import base64
import os
import socket
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from runbook.errors import MissingOnHostError, PreflightError
from runbook.observation import parse
from runbook.onhost import releases, units
from runbook.ssh import InProcessWire
from tests.onhost import saving

if TYPE_CHECKING:
    from tests.onhost.conftest import FakeSystemd

pytestmark = pytest.mark.real


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="needs a process file system")
def test_one_call_tells_files_units_processes_and_state(
    tmp_path: Path, state: str, systemd: FakeSystemd
) -> None:
    script = tmp_path / "decode.sh"
    script.write_bytes(b"export SCRIPTED=1\n")
    environ = {"FLAG": "1", "SCRIPTED": "1", "SGLANG_X": "2", "SGLANG_API_KEY": "s3", "HOME": "/root"}
    argv = [sys.executable, "-I", "-S", "-c", "import time; time.sleep(60)"]
    with subprocess.Popen(argv, env=environ) as child:
        systemd.shows(
            f"Id=d.service\nLoadState=loaded\nActiveState=active\nMainPID={child.pid}\nControlGroup=\n"
        )
        with InProcessWire("reading") as wire:
            answer = wire.call(
                "observe", state=state, files=[str(script), str(tmp_path / "none")], units=["d.service"],
                names=["FLAG"], patterns=[r"SGLANG_\w+"],
            )  # fmt: skip
        child.kill()
    seen = parse(answer)
    unit = seen.units["d.service"]
    assert unit.processes.kind == "environ"
    assert unit.processes.environ == {"FLAG": "1", "SCRIPTED": "1", "SGLANG_X": "2", "SGLANG_API_KEY": "***"}
    assert unit.processes.pid == child.pid
    assert abs(seen.now - unit.processes.started_at) < 60
    assert seen.files[str(script)].content == b"export SCRIPTED=1\n"
    assert seen.files[str(tmp_path / "none")].content is None
    assert seen.facts["python"].startswith("3.")
    assert seen.facts["uid"] == os.geteuid()
    assert seen.free_bytes > 0
    assert not Path(state).exists(), "a look changes nothing"


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="needs a process file system")
def test_what_a_kept_release_set_is_told_although_no_file_names_it_any_more(
    state: str, systemd: FakeSystemd
) -> None:
    environ = {"WAS_SET": "1", "NEVER_SET": "1"}
    with subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"], env=environ) as child:
        systemd.shows(
            f"Id=d.service\nLoadState=loaded\nActiveState=active\nMainPID={child.pid}\nControlGroup=\n"
        )
        with InProcessWire("writing") as wire:
            wire.call("lock", state=state, holder={})
            saving.save(wire, state, [], id="r1", flags={"decode": {"WAS_SET": "1"}})
            answer = wire.call("observe", state=state, files=[], units=["d.service"], names=[], patterns=[])
        child.kill()
    assert parse(answer).units["d.service"].processes.environ == {"WAS_SET": "1"}


@pytest.mark.parametrize("flags", [None, [], {"decode": []}, {"decode": None}, "x"])
def test_a_manifest_whose_flags_are_none_sets_nothing(flags: object) -> None:
    assert releases.set_once([{"flags": flags}, {}]) == frozenset()


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="needs a process file system")
def test_what_we_recorded_about_a_start_is_seen_again(state: str, systemd: FakeSystemd) -> None:
    # A shell that waits by itself: no process of the unit can speak.
    with (
        subprocess.Popen(["sh", "-c", "read line"], stdin=subprocess.PIPE) as shell,
        InProcessWire("writing") as wire,
    ):
        systemd.shows(f"Id=d.service\nLoadState=loaded\nMainPID={shell.pid}\nControlGroup=\n")
        asked: dict[str, Any] = {
            "state": state,
            "files": [],
            "units": ["d.service"],
            "names": ["FLAG"],
            "patterns": [],
        }
        before = wire.call("observe", **asked)["units"]["d.service"]["processes"]
        wire.call(
            "record_start", state=state, unit="d.service", pid=shell.pid, environ={"FLAG": "1", "OTHER": "2"}
        )
        after = wire.call("observe", **asked)["units"]["d.service"]["processes"]
    assert (before["kind"], before["environ"]) == ("unknown", {})
    assert (after["kind"], after["environ"], after["pid"]) == ("recorded", {"FLAG": "1"}, shell.pid)


def test_a_process_that_is_gone_cannot_be_recorded(state: str) -> None:
    with subprocess.Popen(["true"]) as child:
        child.wait()
    with InProcessWire("writing") as wire, pytest.raises(MissingOnHostError, match="no process"):
        wire.call("record_start", state=state, unit="d.service", pid=child.pid, environ={})


def test_files_that_cannot_be_read_say_why(tmp_path: Path, state: str) -> None:
    big = tmp_path / "big"
    with big.open("wb") as file:
        file.truncate(9 * 1024 * 1024)
    os.mkfifo(tmp_path / "fifo")
    with InProcessWire("reading") as wire:
        names = [str(big), str(tmp_path / "fifo"), str(tmp_path)]
        found = wire.call("observe", state=state, files=names, units=[], names=[], patterns=[])["files"]
    assert "at most" in found[str(big)]["error"]
    assert "is not a regular file" in found[str(tmp_path / "fifo")]["error"]
    assert found[str(tmp_path)]["error"]
    assert all(one["exists"] and one["b64"] is None for one in found.values())


def test_a_symlinks_text_and_end_are_told(tmp_path: Path, state: str) -> None:
    (tmp_path / "a").write_bytes(b"x")
    (tmp_path / "b").symlink_to("a")
    (tmp_path / "c").symlink_to("nowhere")
    with InProcessWire("reading") as wire:
        names = [str(tmp_path / "b"), str(tmp_path / "c")]
        found = wire.call("observe", state=state, files=names, units=[], names=[], patterns=[])["files"]
    b, c = found.values()
    assert (b["link"], b["real_path"], base64.b64decode(b["b64"])) == ("a", str(tmp_path / "a"), b"x")
    assert (c["exists"], c["link"], c["real_path"]) == (False, "nowhere", str(tmp_path / "nowhere"))


def test_a_state_directory_of_others_is_not_believed(tmp_path: Path) -> None:
    (tmp_path / "state").mkdir()
    (tmp_path / "state").chmod(0o777)
    with InProcessWire("reading") as wire, pytest.raises(PreflightError, match="writable by others"):
        wire.call("observe", state=str(tmp_path / "state"), files=[], units=[], names=[], patterns=[])


@pytest.mark.skipif(not Path("/proc/net/tcp").exists(), reason="needs a process file system")
def test_who_listens_on_a_port_is_named() -> None:
    with socket.socket() as listener, socket.socket() as other, InProcessWire("reading") as wire:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        other.bind(("127.0.0.1", 0))
        port, silent = listener.getsockname()[1], other.getsockname()[1]
        found = wire.call("listening", ports=[port, silent])
    assert [one["pid"] for one in found[str(port)]] == [os.getpid()]
    assert "pytest" in found[str(port)][0]["cmdline"] or "python" in found[str(port)][0]["cmdline"]
    assert 0 < found[str(port)][0]["after_boot_s"] < units.after_boot_s()
    assert found[str(silent)] == []
