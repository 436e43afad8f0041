"""The helper under every login shell and every kind of sudo, on a real Debian."""

from __future__ import annotations

import contextlib
import os
import signal
from typing import TYPE_CHECKING, Any

import pytest

from runbook import ssh
from runbook.bundle import helper_payload
from runbook.errors import LinkLostError, UnreachableError
from runbook.model import SshTarget
from runbook.ssh import sudo
from tests.system.boot.base import PASSWORD

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from runbook.ssh.wire import Mode, OpenWire
    from tests.system.hosts import TestHost

pytestmark = pytest.mark.system

STATE = "/var/lib/runbook/becoming"


@contextlib.contextmanager
def opened(
    host: TestHost,
    user: str,
    *,
    mode: Mode = "reading",
    become: bool = True,
    ask: Callable[[str], str] | None = None,
) -> Iterator[OpenWire]:
    target = SshTarget(
        host.address, user, 22, key=str(host.key), known_hosts=str(host.known_hosts), config="none"
    )
    with (
        ssh.connect(target, ask=ask) as link,
        link.open_wire(mode, payload=helper_payload, state=STATE, become=become) as wire,
    ):
        yield wire


def facts(wire: OpenWire) -> dict[str, Any]:
    found: dict[str, Any] = wire.call(
        "observe", state=STATE, files=[], units=["ssh.service"], names=[], patterns=[]
    )
    assert found["units"]["ssh.service"]["properties"]["ActiveState"] == "active"
    return found["facts"]  # type: ignore[no-any-return]


@pytest.fixture(autouse=True)
def _no_state(host: TestHost) -> None:
    """None of an earlier test, whoever's it was: what root has made is not for other users."""
    host.run(["rm", "-rf", STATE])


@pytest.fixture(autouse=True)
def _no_password_file(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (sudo.PASSWORD_FILE, sudo.PASSWORD_COMMAND):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize("user", ["free", "dashing", "seashell", "zed", "angler"])
@pytest.mark.parametrize("become", [False, True])
def test_no_login_shell_stands_in_the_way(host: TestHost, user: str, become: bool) -> None:
    with opened(host, user, become=become) as wire:
        assert facts(wire)["user"] == ("root" if become else user)


def test_root_itself_needs_no_sudo(host: TestHost) -> None:
    with opened(host, "root", become=False) as wire:
        assert facts(wire)["uid"] == 0


def test_a_password_is_asked_for_once_and_opens_a_writing_wire(host: TestHost) -> None:
    asked: list[str] = []

    def ask(prompt: str) -> str:
        asked.append(prompt)
        return PASSWORD

    with opened(host, "asked", mode="writing", ask=ask) as wire:
        wire.call("lock", state=STATE, holder={"who": "asked"})
        assert facts(wire)["user"] == "root"
    assert asked == [f"sudo password for asked@{host.address}: "]


def test_the_password_may_come_from_a_file(
    host: TestHost, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "password"
    path.write_text(f"{PASSWORD}\n")
    path.chmod(0o600)
    monkeypatch.setenv(sudo.PASSWORD_FILE, str(path))
    with opened(host, "asked") as wire:
        assert facts(wire)["user"] == "root"


@pytest.mark.parametrize(
    ("user", "ask", "want"),
    [
        ("asked", lambda prompt: "not the password", "sudo did not accept the password"),
        ("asked", None, "there is nobody to ask"),
        ("onterminal", None, "requiretty"),
        ("nobodys", lambda prompt: PASSWORD, "nobodys is not in its sudoers file"),
    ],
)
def test_what_sudo_refuses_is_one_clear_message(
    host: TestHost, user: str, ask: Callable[[str], str] | None, want: str
) -> None:
    with pytest.raises(UnreachableError, match=want), opened(host, user, ask=ask):
        pass
    # A sudo that was let go may take a moment to end.
    host.sh("for i in $(seq 200); do pgrep --full [r]unbook || exit 0; sleep 0.05; done; exit 1")


def test_a_killed_helper_under_sudo_leaves_nothing_of_root_behind(host: TestHost) -> None:
    with opened(host, "free", mode="writing") as wire:
        wire.call("lock", state=STATE, holder={"who": "free"})
        orphaned = (
            "setsid sh -c 'trap \"\" TERM HUP; echo $$ $PPID; while :; do sleep 1; done' & echo $PPID; wait"
        )
        job = wire.call("job_start", argv=["sh", "-c", orphaned])["job"]
        lines: list[str] = []
        while len(lines) < 2:
            lines += wire.call("job_poll", job=job, wait_s=10.0)["lines"]
        helper = next(line for line in lines if " " not in line)
        orphan = next(line for line in lines if " " in line).split()[0]
        host.run(["kill", f"-{signal.SIGKILL}", helper])
        with pytest.raises(LinkLostError, match="exit 137"):
            ask_until_told(wire)
    assert not host.run(["sh", "-c", f"cat /proc/{orphan}/stat 2>/dev/null || true"])
    with opened(host, "root", mode="writing", become=False) as wire:
        wire.call("lock", state=STATE, holder={"who": "next"})


def ask_until_told(wire: OpenWire) -> None:
    for _ in range(1000):
        wire.call("cache_has", state=STATE, digest="0" * 64)


@pytest.mark.heavy
def test_a_cut_cable_frees_the_lock_within_a_minute(host: TestHost) -> None:
    with contextlib.suppress(LinkLostError), opened(host, "root", mode="writing", become=False) as wire:
        wire.call("lock", state=STATE, holder={"who": "cut", "pid": os.getpid()})
        host.cut()
        try:
            # The helper has heard nothing from us for 45 s, sshd has not noticed anything at all.
            host.sh(f"timeout 60 flock --exclusive {STATE}/lock true", timeout_s=70.0)
        finally:
            host.heal()
