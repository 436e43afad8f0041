"""Another user of the host: sees nothing of the state, holds no lock of ours, and reads no key from what we start."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from runbook.ssh import InProcessWire
from tests.onhost.saving import save

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = [
    pytest.mark.real,
    pytest.mark.skipif(os.geteuid() != 0 or not shutil.which("setpriv"), reason="only root acts as others"),
]


def as_nobody(command: str) -> subprocess.CompletedProcess[str]:
    """What nobody's shell gets to see and do."""
    argv = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "sh", "-c", command]
    return subprocess.run(argv, capture_output=True, text=True, timeout=20, check=False)


@pytest.fixture
def open_place() -> Iterator[Path]:
    """A directory that everybody may enter, down from the root, which pytest's own is not."""
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o755)
        if as_nobody(f"ls {name}").returncode:
            pytest.skip("the temporary directory is closed to others")
        yield Path(name)


@pytest.fixture
def running(open_place: Path) -> Iterator[tuple[InProcessWire, str]]:
    state = str(open_place / "svc")
    with InProcessWire("writing") as wire:
        wire.call("lock", state=state, holder={"who": "a test"})
        yield wire, state


def test_the_state_and_all_in_it_is_closed(running: tuple[InProcessWire, str], open_place: Path) -> None:
    wire, state = running
    script = open_place / "serve.sh"
    script.write_bytes(b"export API_KEY=s3cr3t\n")
    script.chmod(0o600)
    name = save(wire, state, [script])
    wire.call("set_current", state=state, id=name)
    wire.call("audit_append", state=state, record={"id": "x"})
    wire.call("inflight", state=state, doc={"rollout": "x"})
    for path in (Path(state), *Path(state).rglob("*")):
        assert as_nobody(f"cat '{path}' || ls '{path}/'").stdout == "", path
        assert path.is_symlink() or path.stat().st_mode & 0o077 == 0, path


def test_the_lock_is_nobody_elses_to_hold_or_to_take_away(running: tuple[InProcessWire, str]) -> None:
    _, state = running
    tried = as_nobody(f"flock --nonblock {state}/lock true; rm -f {state}/lock; mv {state} {state}.gone")
    assert tried.stderr.count("Permission denied") >= 2
    assert Path(state, "lock").exists()


def test_a_key_is_in_no_command_line_and_in_no_environment_others_can_read(
    running: tuple[InProcessWire, str],
) -> None:
    wire, _ = running
    started = wire.call("job_start", argv=["sleep", "60"], env={"RUNBOOK_API_KEY": "s3cr3t"})
    seen = as_nobody(f"cat /proc/{started['pid']}/environ /proc/{started['pid']}/cmdline; ps -eo args")
    assert "s3cr3t" not in seen.stdout
    assert b"s3cr3t" in Path(f"/proc/{started['pid']}/environ").read_bytes()
