"""Programs of this machine that are run for a host: what is stopped leaves nothing of what it started."""

from __future__ import annotations

import shutil
import subprocess
from typing import TYPE_CHECKING

import pytest

from tests.sshd import script
from tests.system.boot import base, commands, owner
from tests.system.real import hostkey

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.real


def test_output_goes_in_and_out_as_bytes() -> None:
    assert commands.output(["cat"], stdin=b"a\xff\n") == b"a\xff\n"


def test_a_failure_says_how_it_ended() -> None:
    with pytest.raises(commands.ProgramFailed, match="exited 3: no luck"):
        commands.run(["sh", "-c", "echo no luck >&2; exit 3"])


def test_what_takes_too_long_ends_with_all_that_it_started(tmp_path: Path) -> None:
    with pytest.raises(subprocess.TimeoutExpired):
        commands.run(["sh", "-c", f"sleep 60 & echo $! >{tmp_path}/pid; wait"], timeout_s=1.0)
    assert owner.find(int((tmp_path / "pid").read_text())) is None


def test_a_base_that_was_not_finished_is_taken_away(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    programs = tmp_path / "bin"
    programs.mkdir()
    failing = 'for last; do tree=$before before=$last; done; mkdir -p "$tree/etc/ssh"; exit 1\n'
    script(programs / "debootstrap", failing)
    monkeypatch.setenv("PATH", f"{programs}:/usr/bin:/bin")
    with pytest.raises(commands.ProgramFailed):
        base.built(base.Mirror("http://192.0.2.1/debian", "bookworm"), tmp_path / "cache")
    assert [*(tmp_path / "cache" / "bases").iterdir()] == []


@pytest.mark.skipif(shutil.which("ssh-keygen") is None, reason="needs ssh-keygen")
def test_the_key_of_real_hosts_is_made_once_and_is_nobody_elses_to_read(tmp_path: Path) -> None:
    key = hostkey.kept(tmp_path)
    first = key.read_bytes()
    assert key.stat().st_mode & 0o777 == 0o600
    assert (
        commands.output(["ssh-keygen", "-y", "-f", str(key)]).split()[:2]
        == (key.with_suffix(".pub").read_bytes().split()[:2])
    )
    assert hostkey.kept(tmp_path).read_bytes() == first


@pytest.mark.skipif(shutil.which("ssh-keygen") is None, reason="needs ssh-keygen")
def test_one_that_was_cut_off_while_it_was_made_is_made_anew(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    for half in ("fresh", "fresh.pub", "ssh_host_ed25519_key.pub"):
        (tmp_path / "real" / half).write_text("half")
    assert b"PRIVATE KEY" in hostkey.kept(tmp_path).read_bytes()
