"""Where no hosts can be booted, one plain sentence says why."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.system import requirements

# A terminal sends Ctrl-C to the program that waits and to the one that it waits for. No shell: dash lets in what was held back.
INTERRUPTED = f"""\
#!{sys.executable} -IS
import os, signal
{{does}}
os.kill(os.getppid(), signal.SIGINT)
os.kill(os.getpid(), signal.SIGINT)
"""
TRYING = """\
from runbook import interrupt
from tests.system.boot import base
try:
    with interrupt.once():
        base.can_mount()
except KeyboardInterrupt:
    print("interrupted")
"""


@pytest.mark.parametrize(
    ("platform", "uid", "reason"), [("darwin", 0, "needs Linux"), ("linux", 1000, "needs root")]
)
def test_what_is_missing_is_said_in_one_sentence(platform: str, uid: int, reason: str) -> None:
    said = requirements.obstacle(platform, uid)
    assert said is not None
    assert said.endswith(reason)
    assert "\n" not in said


def test_missing_programs_are_named_with_the_packages_that_bring_them() -> None:
    assert requirements.lacking(["debootstrap", "ip", "ssh-keygen"]) == (
        "booting Debian hosts needs programs that are not installed: debootstrap, ip, ssh-keygen "
        "(apt-get install debootstrap iproute2)"
    )


def test_only_a_demand_makes_a_missing_host_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("RUNBOOK_REQUIRE_SYSTEM", raising=False)
    assert not requirements.demanded()
    monkeypatch.setenv("RUNBOOK_REQUIRE_SYSTEM", "1")
    assert requirements.demanded()


@pytest.mark.real
def test_ctrl_c_leaves_nothing_mounted_that_was_mounted_to_see_whether_we_may(tmp_path: Path) -> None:
    mounted, trials = tmp_path / "mounted", tmp_path / "trials"
    trials.mkdir()
    for name, does in (("mount", f"os.mkdir({str(mounted)!r})"), ("umount", f"os.rmdir({str(mounted)!r})")):
        (tmp_path / name).write_text(INTERRUPTED.format(does=does))
        (tmp_path / name).chmod(0o755)
    environment = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}", "TMPDIR": str(trials)}
    told = subprocess.run(
        [sys.executable, "-c", TRYING], cwd=Path(__file__).parents[2], env=environment, stdout=subprocess.PIPE, check=True
    )  # fmt: skip
    assert (told.stdout, mounted.exists(), list(trials.iterdir())) == (b"interrupted\n", False, [])
