"""What runs, by evidence: laid out in a process file system of our own."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest

from runbook.onhost import cgroups, commandline, environ, processes
from runbook.onhost.environ import Selection

if TYPE_CHECKING:
    from pathlib import Path

UNIT = "/system.slice/decode.service"
V2, V1, HYBRID = "0::{path}\n", "3:cpuset:/\n1:name=systemd:{path}\n", "1:name=systemd:{path}\n0::/other\n"
EVERYTHING = Selection(patterns=(r".*",))


@dataclass(frozen=True)
class Proc:
    """A /proc with the files we read."""

    root: Path
    layout: str = V2
    prefix: str = ""

    def add(
        self, pid: int, *, parent: int = 1, exe: str = "python3", environ: bytes | None = b"A=1\0", group: str = UNIT,
        start: int = 100, comm: str | None = None,
    ) -> Proc:  # fmt: skip
        home = self.root / str(pid)
        home.mkdir(parents=True)
        stat = f"{pid} ({comm or exe}) S {parent} " + " ".join(["0"] * 17) + f" {start} 0 0\n"
        (home / "stat").write_text(stat)
        (home / "cgroup").write_text(self.layout.format(path=self.prefix + group))
        (home / "exe").symlink_to(f"/usr/bin/{exe}")
        if environ is not None:
            (home / "environ").write_bytes(environ)
        return self


@pytest.fixture
def proc(tmp_path: Path) -> Proc:
    root = tmp_path / "proc"
    (root / "self").mkdir(parents=True)
    (root / "sys" / "kernel" / "random").mkdir(parents=True)
    (root / "sys" / "kernel" / "random" / "boot_id").write_text("boot-1\n")
    return Proc(root).add(1, parent=0, exe="systemd", group="/init.scope", start=1)


def seen(
    proc: Proc, main: int = 10, *, group: str = UNIT, recorded: Any = None, selection: Selection = EVERYTHING
) -> processes.Evidence:
    properties = {"MainPID": str(main), "ControlGroup": group}
    return processes.evidence(processes.Look.take(str(proc.root)), properties, recorded, selection)


def test_the_main_process_speaks(proc: Proc) -> None:
    proc.add(10, environ=b"A=1\0EMPTY=\0MULTI=x\ny\0").add(11, parent=10, environ=b"A=2\0", start=101)
    found = seen(proc)
    assert (found.kind, found.pid, found.environ) == ("environ", 10, {"A": "1", "EMPTY": "", "MULTI": "x\ny"})
    assert found.pids == [10, 11]


@pytest.mark.parametrize("layout", [V2, V1, HYBRID], ids=["v2", "v1", "hybrid"])
def test_the_units_group_is_found_on_every_kind_of_host(tmp_path: Path, proc: Proc, layout: str) -> None:
    laid = Proc(proc.root, layout)
    laid.add(10).add(12, parent=10, group=f"{UNIT}/sub").add(
        13, parent=10, group="/system.slice/decode.service2"
    )
    assert seen(laid).pids == [10, 12]


def test_in_a_container_systemds_paths_stand_below_its_own(tmp_path: Path) -> None:
    root = tmp_path / "proc"
    root.mkdir()
    laid = Proc(root, V2, prefix="/machine.slice/gpu1").add(1, exe="systemd", group="/init.scope").add(10)
    assert seen(laid).pids == [10]


def test_a_shell_does_not_speak_for_what_it_exported(proc: Proc) -> None:
    proc.add(10, exe="bash", environ=b"PATH=/bin\0").add(
        11, parent=10, environ=b"PATH=/bin\0A=1\0", start=101
    )
    found = seen(proc)
    assert (found.pid, found.environ["A"]) == (11, "1")


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\0" * 64,
        b"sglang::scheduler\0\0\0\0",
        b"sglang::scheduler",
        b"A=1\0\0B=2\0",
        b"tail of title\0A=1\0",
        b"A=1",
    ],
    ids=["gone", "zeros", "title", "unended", "gap", "overwritten", "cut"],
)
def test_an_overwritten_environment_is_unknown_not_absent(proc: Proc, content: bytes) -> None:
    found = seen(proc.add(10, environ=content))
    assert (found.kind, found.environ) == ("unknown", {})
    assert found.detail == ("title overwritten" if content else "empty")
    assert found.pids == [10]


def test_a_readable_ancestor_speaks_for_a_blank_process(proc: Proc) -> None:
    proc.add(10, exe="bash").add(11, parent=10, environ=b"A=1\0", start=101)
    proc.add(12, parent=11, environ=b"\0\0", start=102)
    assert (seen(proc).kind, seen(proc).pid) == ("environ", 11)


def test_an_unreadable_environment_is_unknown(proc: Proc) -> None:
    found = seen(proc.add(10, environ=None).add(11, environ=b"\0\0", parent=10))
    assert (found.kind, found.detail) == ("unknown", "unreadable")


def test_a_shell_by_itself_is_called_one(proc: Proc) -> None:
    assert seen(proc.add(10, exe="bash")).detail == "only a shell"


def test_what_we_recorded_speaks_for_this_very_process_only(proc: Proc) -> None:
    proc.add(10, environ=b"\0\0")
    note = {"identity": processes.identity(str(proc.root), 10), "environ": {"A": "7"}}
    assert (seen(proc, recorded=note).kind, seen(proc, recorded=note).environ) == ("recorded", {"A": "7"})
    reused = {**note, "identity": "boot-1/10/99"}
    assert seen(proc, recorded=reused).kind == "unknown"


def test_a_stopped_unit_has_no_environment(proc: Proc) -> None:
    found = seen(proc, main=0)
    assert (found.kind, found.detail) == ("unknown", "no process is running")


def test_without_a_group_the_descendants_of_the_main_process_stand_in(proc: Proc) -> None:
    proc.add(10, exe="bash", group="/user.slice").add(11, parent=10, group="/user.slice", start=101)
    proc.add(12, group="/user.slice")
    found = seen(proc, group="")
    assert found.pids == [10, 11]
    assert "descendants of MainPID" in found.detail


def test_where_there_is_no_process_file_system_nothing_is_claimed(tmp_path: Path) -> None:
    look = processes.Look.take(str(tmp_path / "none"))
    found = processes.evidence(look, {"MainPID": "10", "ControlGroup": UNIT}, None, EVERYTHING)
    assert (found.kind, found.detail) == ("unknown", "this machine shows no process file system")


def test_a_start_is_told_by_the_clock_of_now(proc: Proc, monkeypatch: pytest.MonkeyPatch) -> None:
    (proc.root / "uptime").write_text("7.00 1.0\n")  # of a container, where lxcfs makes one up
    monkeypatch.setattr(time, "time", lambda: 5000.0)
    monkeypatch.setattr(time, "clock_gettime", lambda clock: 1000.0)
    monkeypatch.setattr(os, "sysconf", lambda name: 100)
    assert seen(proc.add(10, start=20000)).started_at == pytest.approx(4200.0)


def test_a_name_with_spaces_and_brackets_is_read_right(proc: Proc) -> None:
    proc.add(10, comm="VLLM) S 1 (Engine", start=4711)
    found = cgroups.process(str(proc.root), 10)
    assert found == cgroups.Process(10, 1, 4711, "VLLM) S 1 (Engine")


def test_a_process_without_an_exe_to_see_goes_by_its_name(proc: Proc) -> None:
    proc.add(10, comm="-bash")
    (proc.root / "10" / "exe").unlink()
    assert seen(proc).kind == "unknown"


def test_only_known_names_leave_and_secrets_are_masked() -> None:
    selection = Selection(
        frozenset({"FLAG", "CACHE_KEY_MODE"}), frozenset({"HF_TOKEN", "MAX_TOKENS"}), (r"SGLANG_\w+",)
    )
    found = selection.of(
        {
            "FLAG": "1",
            "HF_TOKEN": "hf_x",
            "MAX_TOKENS": "8",
            "SGLANG_API_KEY": "s",
            "SGLANG_A": "0",
            "HOME": "/root",
            "CACHE_KEY_MODE": "b",
        }
    )
    assert found == {
        "FLAG": "1", "HF_TOKEN": "***", "MAX_TOKENS": "8", "SGLANG_API_KEY": "***", "SGLANG_A": "0", "CACHE_KEY_MODE": "b"
    }  # fmt: skip


def test_names_a_script_assigns_are_found() -> None:
    script = b'export A=1 B="x"\nC=2 exec python x --opt=3\n# D=4\nif x; then E=5; fi\n(F=6)\n'
    assert {"A", "B", "C", "E", "F"} <= environ.assigned(script)


@pytest.mark.parametrize(
    ("cmdline", "want"),
    [
        (b"python\0-m\0serve\0--x\x001\0", ["python", "-m", "serve", "--x", "1"]),
        (b"python\0--empty\0\0", ["python", "--empty", ""]),
        (b"sglang::scheduler_TP0\0\0\0\0", []),
        (b"sglang: a title with blanks\0", []),
        (b"a title that reached its end", []),
        (b"", []),
        (b"python\0" + b"a" * 70_000 + b"\0", []),
        (b"python\0--api-key\0sk-1\0--x=1\0", ["python", "--api-key", "***", "--x=1"]),
        (b"python\0--hf_token=hf_1\0--tokenizer-path\0/m\0--max-total-tokens\x009\0",
         ["python", "--hf_token=***", "--tokenizer-path", "/m", "--max-total-tokens", "9"]),
        (b"env\0HF_TOKEN=hf_1\0K=1\0--url\0http://me:pw@host/\0", ["env", "HF_TOKEN=***", "K=1", "--url", "http://***@host/"]),
        (b"python\0\xff\xfe\0", ["python", "\udcff\udcfe"]),
    ],
)  # fmt: skip
def test_a_command_line_is_told_without_secrets_or_not_at_all(cmdline: bytes, want: list[str]) -> None:
    assert commandline.parse(cmdline) == want


def test_who_speaks_of_the_environment_speaks_of_the_command_line(proc: Proc) -> None:
    proc.add(9, exe="bash").add(10, parent=9)
    (proc.root / "9" / "cmdline").write_bytes(b"bash\0/serve.sh\0")
    (proc.root / "10" / "cmdline").write_bytes(b"python\0--x\x001\0")
    assert seen(proc, 9).argv == ["python", "--x", "1"]


def test_without_a_command_line_file_there_is_no_command_line(proc: Proc) -> None:
    proc.add(10)
    assert seen(proc).argv == []
