"""The engine a process runs, told from files alone: laid out as pip, venv and git lay them."""

from __future__ import annotations

import json
import os
import subprocess
from typing import TYPE_CHECKING, Any

import pytest

from runbook.onhost import engine
from tests.sshd import script

if TYPE_CHECKING:
    from pathlib import Path

A, B = "a" * 40, "b" * 40
PACKED = f"# pack\n{B} refs/heads/domain\n{A} refs/heads/main\n^{B}\n"


def lay(root: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return root


@pytest.mark.parametrize(
    ("files", "revision"),
    [
        ({".git/HEAD": A}, A),
        ({".git/HEAD": "ref: refs/heads/main\n", ".git/refs/heads/main": f"{A}\n"}, A),
        ({".git/HEAD": "ref: refs/heads/main\n", ".git/packed-refs": PACKED}, A),
        ({".git": "gitdir: ../main/.git/worktrees/w\n", "../main/.git/worktrees/w/HEAD": "ref: refs/heads/w\n",
          "../main/.git/worktrees/w/commondir": "../..\n", "../main/.git/refs/heads/w": A}, A),
        ({".git/HEAD": "ref: ../../../etc/passwd\n"}, None),
        ({".git/HEAD": "ref: refs/heads/none\n"}, None),
        ({".git/HEAD": ""}, None),
        ({".git": "gitdir: \n"}, None),
    ],
)  # fmt: skip
def test_a_checkouts_revision_is_read_as_git_keeps_it(
    tmp_path: Path, files: dict[str, str], revision: str | None
) -> None:
    top = lay(tmp_path / "src", files)
    (top / "python" / "sglang").mkdir(parents=True)
    found = engine.checkout(str(top / "python" / "sglang"))
    assert found == (revision and {"path": str(top), "revision": revision})


def test_a_directory_in_no_checkout_has_none() -> None:
    assert engine.checkout("/proc/self/fd") is None


@pytest.mark.real
def test_git_itself_says_the_same(tmp_path: Path) -> None:
    git = ["git", "-C", str(tmp_path), "-c", "user.name=a", "-c", "user.email=a@example.net"]
    for words in (["init", "-q"], ["commit", "-q", "--allow-empty", "-m", "one"], ["pack-refs", "--all"]):
        subprocess.run([*git, *words], check=True)
    head = subprocess.run(
        [*git, "rev-parse", "HEAD"], check=True, capture_output=True, text=True
    ).stdout.strip()
    assert engine.checkout(str(tmp_path)) == {"path": str(tmp_path), "revision": head}


def test_distributions_are_known_however_their_names_are_spelled(tmp_path: Path) -> None:
    for name in (
        "sglang-0.5.23",
        "sglang_router-0.3.2",
        "Flashinfer.Python-0.6",
        "requests-2.0",
        "torch-2.9.0+cu129",
    ):
        (tmp_path / f"{name}.dist-info").mkdir()
    found = {name: version for name, version, _ in engine.distributions(str(tmp_path))}
    assert found == {
        "sglang": "0.5.23",
        "sglang_router": "0.3.2",
        "flashinfer_python": "0.6",
        "torch": "2.9.0+cu129",
    }


@pytest.mark.parametrize(
    ("document", "source"),
    [
        (
            {"url": "file:///root/my%20sglang/python", "dir_info": {"editable": True}},
            "/root/my sglang/python",
        ),
        ({"url": "file:///root/sglang", "dir_info": {}}, None),
        ({"url": "https://example.net/x.whl", "dir_info": {"editable": True}}, None),
        ({"url": "file:sglang", "dir_info": {"editable": True}}, None),
        ([], None),
        ({"url": 3, "dir_info": {"editable": True}}, None),
    ],
)
def test_only_an_editable_installation_names_its_source(
    tmp_path: Path, document: Any, source: str | None
) -> None:
    (tmp_path / "direct_url.json").write_text(json.dumps(document))
    assert engine.source_of(str(tmp_path)) == source


def process(proc: Path, pid: int, *, maps: str = "", argv: str = "", cwd: Path | str = "/") -> None:
    home = lay(proc / str(pid), {"maps": maps, "cmdline": argv})
    (home / "stat").write_text(f"{pid} (x) S 1 " + " ".join(["0"] * 17) + " 100 0 0\n")
    (home / "cgroup").write_text("0::/system.slice/decode.service\n")
    (home / "cwd").symlink_to(cwd)
    (home / "exe").symlink_to("/usr/bin/python3.11")


def asked(proc: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    from runbook.onhost import dispatch
    from runbook.onhost.session import Session

    (proc / "bin").mkdir(parents=True, exist_ok=True)
    script(proc / "bin" / "systemctl", "echo MainPID=10; echo ControlGroup=/system.slice/decode.service")
    monkeypatch.setenv("PATH", f"{proc / 'bin'}:{os.environ['PATH']}")
    found = dispatch.dispatch("engine", {"units": ["decode.service"]}, Session("reading", proc=str(proc)))
    return dict(found["decode.service"])


@pytest.mark.real
def test_a_retitled_server_is_known_by_the_libraries_it_has_loaded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    site = lay(tmp_path / "venv/lib/python3.11/site-packages", {"sglang-0.5.23.dist-info/METADATA": ""})
    maps = f"7f00-7f01 r-xp 0 08:01 1   {site}/torch/lib/libtorch.so\n7f02-7f03 r--p 0 08:01 2   /usr/lib/libc.so.6\n"
    process(tmp_path / "proc", 10, maps=maps, argv="sglang::scheduler")
    found = asked(tmp_path / "proc", monkeypatch)
    assert (found["packages"], found["checkout"]) == ({"sglang": "0.5.23"}, None)


@pytest.mark.real
def test_a_server_without_libraries_is_known_by_its_python_and_a_checkout_by_where_it_works(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lay(tmp_path / "venv", {"lib/python3.11/site-packages/vllm-0.12.dist-info/METADATA": ""})
    source = lay(tmp_path / "src", {".git/HEAD": A, "python/x": ""})
    python = tmp_path / "venv" / "bin" / "python3"
    process(tmp_path / "proc", 10, argv=f"{python}\0-m\0vllm\0", cwd=source / "python")
    found = asked(tmp_path / "proc", monkeypatch)
    assert found["packages"]["vllm"] == "0.12"
    assert found["checkout"] == {"path": str(source), "revision": A}


@pytest.mark.real
def test_a_unit_that_is_down_runs_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "proc").mkdir()
    assert asked(tmp_path / "proc", monkeypatch) == {"packages": {}, "checkout": None, "program": None}


@pytest.mark.real
@pytest.mark.parametrize(
    "journal",
    ["exit 1", "echo '2026-11-30T01:00:00 gpu1 kernel: NVRM: Xid (PCI:0000:3b:00): 79, x'; echo other"],
)
def test_xids_come_from_the_journal_or_else_from_dmesg(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, journal: str
) -> None:
    from runbook.onhost import dispatch
    from runbook.onhost.session import Session

    script(tmp_path / "journalctl", journal)
    script(tmp_path / "dmesg", "echo '[ 1.0] NVRM: Xid (PCI:0000:3b:00): 79, x'")
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    found = dispatch.dispatch("xids", {}, Session("reading"))
    assert (found["count"], found["detail"]) == (1, "")
    assert found["lines"][0].endswith("NVRM: Xid (PCI:0000:3b:00): 79, x")
