"""Logging in to a real sshd: host keys strict, our keys, jump hosts, and every refusal in words."""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from runbook import ssh
from runbook.errors import UnreachableError
from runbook.model import SshTarget
from runbook.ssh import known_hosts, proxy
from tests import sshd
from tests.onhost.helper import eventually

if TYPE_CHECKING:
    from collections.abc import Iterator

    from runbook.ssh.boot import Payload


pytestmark = pytest.mark.real


def refused(target: SshTarget, **more: object) -> str:
    with pytest.raises(UnreachableError) as caught:
        ssh.connect(target, **more).close()  # type: ignore[arg-type]
    return str(caught.value)


def filed(server: sshd.Sshd, tmp_path: Path, text: str = "") -> SshTarget:
    """A target whose known_hosts holds `text` alone."""
    path = tmp_path / "known_hosts"
    path.write_text(text)
    return server.target()._replace(known_hosts=str(path))


def fingerprint(path: Path) -> str:
    argv = ["ssh-keygen", "-lf", str(path)]
    return subprocess.run(argv, check=True, capture_output=True, text=True).stdout.split()[1]


def test_a_known_host_lets_us_in(server: sshd.Sshd, payload: Payload, state: str) -> None:
    with (
        ssh.connect(server.target()) as link,
        link.open_wire("reading", payload=payload, state=state) as wire,
    ):
        assert (
            wire.call("observe", state=state, files=[], units=[], names=[], patterns=[])["facts"]["uid"]
            == os.geteuid()
        )


def test_the_key_that_let_us_in_is_known_by_its_fingerprint(server: sshd.Sshd) -> None:
    with ssh.connect(server.target()) as link:
        assert link.fingerprint == fingerprint(Path(server.target().key or ""))


def test_an_unknown_host_is_refused_with_its_fingerprint_and_a_way_on(
    server: sshd.Sshd, tmp_path: Path
) -> None:
    message = refused(filed(server, tmp_path))
    assert fingerprint(server.root / "host.pub") in message
    assert f"ssh-keyscan -p {server.port} 127.0.0.1" in message
    assert "--accept-new" in message
    assert (tmp_path / "known_hosts").read_text() == ""


def test_accept_new_files_the_key_and_the_next_login_needs_it_no_more(
    server: sshd.Sshd, tmp_path: Path
) -> None:
    target = filed(server, tmp_path)
    ssh.connect(target, accept_new=True).close()
    ssh.connect(target).close()
    (line,) = known_hosts.read([tmp_path / "known_hosts"])
    assert line.hosts == f"[127.0.0.1]:{server.port}"


@pytest.mark.parametrize("accept_new", [False, True])
def test_a_changed_key_is_a_hard_stop_that_shows_both(
    server: sshd.Sshd, tmp_path: Path, accept_new: bool
) -> None:
    other = sshd.make_key(tmp_path / "other")
    kind, text = (tmp_path / "other.pub").read_text().split()[:2]
    message = refused(
        filed(server, tmp_path, f"[127.0.0.1]:{server.port} {kind} {text}\n"), accept_new=accept_new
    )
    assert "THE HOST KEY IS NOT THE ONE ON FILE" in message
    assert fingerprint(server.root / "host.pub") in message
    assert fingerprint(other.with_name("other.pub")) in message
    assert f"ssh-keygen -R '[127.0.0.1]:{server.port}'" in message
    assert "Last login" not in server.log


def test_a_revoked_key_is_refused(server: sshd.Sshd, tmp_path: Path) -> None:
    kind, text = (server.root / "host.pub").read_text().split()[:2]
    good = server.known_hosts.read_text()
    message = refused(filed(server, tmp_path, f"{good}@revoked * {kind} {text}\n"))
    assert "is revoked in" in message


def test_a_host_with_two_keys_is_known_by_either(tmp_path: Path) -> None:
    rsa = sshd.make_key(tmp_path / "rsa", kind="rsa")
    with sshd.serving(tmp_path / "two", options=[f"HostKey {rsa}"]) as two:
        two.trust(rsa.with_name("rsa.pub"))
        ssh.connect(two.target()).close()
        two.trust(two.root / "host.pub")
        ssh.connect(two.target()).close()


def test_a_key_the_host_does_not_know_is_refused_by_name(server: sshd.Sshd, tmp_path: Path) -> None:
    stranger = sshd.make_key(tmp_path / "stranger")
    message = refused(server.target(key=stranger))
    assert "login refused:\n" in message
    assert f"tried: {stranger}" in message
    assert "another key is named by IdentityFile of an alias in ~/.ssh/config" in message


def test_a_host_that_takes_no_keys_says_what_it_takes(tmp_path: Path) -> None:
    options = ["PubkeyAuthentication no", "PasswordAuthentication yes"]
    with sshd.serving(tmp_path / "passwords", options=options) as other:
        assert "login refused (it takes password)" in refused(other.target())


def test_a_key_that_is_not_there_leaves_nothing_to_try(server: sshd.Sshd, tmp_path: Path) -> None:
    message = refused(server.target(key=tmp_path / "none"))
    assert "login refused" in message
    assert f"tried: {tmp_path / 'none'} (there is no such file)" in message


def test_a_protected_key_asks_a_person_up_to_three_times(server: sshd.Sshd, tmp_path: Path) -> None:
    locked = sshd.make_key(tmp_path / "locked", passphrase="open sesame")
    with (server.root / "authorized_keys").open("a") as file:
        file.write((tmp_path / "locked.pub").read_text())
    answers = iter(["wrong", "open sesame"])
    asked: list[str] = []

    def ask(prompt: str) -> str:
        asked.append(prompt)
        return next(answers)

    ssh.connect(server.target(key=locked), ask=ask).close()
    assert asked == [f"passphrase for {locked}: "] * 2
    assert "protected by a passphrase, and nobody to ask for it" in refused(server.target(key=locked))
    assert "login refused" in refused(server.target(key=locked), ask=lambda prompt: "always wrong")


@pytest.fixture
def agent(tmp_path: Path, server: sshd.Sshd, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    path = tmp_path / "agent"
    with subprocess.Popen(["ssh-agent", "-D", "-a", str(path)], stdout=subprocess.DEVNULL) as running:
        monkeypatch.setenv("SSH_AUTH_SOCK", str(path))
        try:
            assert eventually(lambda: added(server.key))
            yield
        finally:
            running.terminate()


def added(key: Path) -> bool:
    return subprocess.run(["ssh-add", "-q", str(key)], capture_output=True, check=False).returncode == 0


@pytest.mark.usefixtures("agent")
def test_the_agent_speaks_for_a_key_whose_file_is_locked(server: sshd.Sshd, tmp_path: Path) -> None:
    # The file is useless without its passphrase; its public half says which of the agent's keys is meant.
    (tmp_path / "key").write_text("not a key")
    (tmp_path / "key.pub").write_text((server.root / "client.pub").read_text())
    ssh.connect(server.target(key=tmp_path / "key")).close()


@pytest.mark.usefixtures("agent")
def test_a_key_that_was_named_is_not_replaced_by_another_of_the_agent(
    server: sshd.Sshd, tmp_path: Path
) -> None:
    assert "login refused" in refused(server.target(key=sshd.make_key(tmp_path / "stranger")))


def test_nobody_there_is_said(server: sshd.Sshd) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        target = server.target()._replace(port=free.getsockname()[1])
        assert refused(target).endswith("Connection refused")


def test_a_name_that_has_no_address_is_said(server: sshd.Sshd, monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(*args: object, **kwargs: object) -> None:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", unknown)
    target = server.target()._replace(address="gpu9.example.net")
    assert "no address of that name (Name or service not known)" in refused(target)


def test_a_name_that_can_be_none_is_said(server: sshd.Sshd) -> None:
    assert "no address of that name" in refused(server.target()._replace(address="g" * 64))


def test_a_server_that_says_nothing_is_given_up(server: sshd.Sshd) -> None:
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        target = server.target()._replace(port=silent.getsockname()[1])
        assert "127.0.0.1" in refused(target, timeout_s=0.5)


def test_a_server_that_is_no_ssh_is_said(server: sshd.Sshd) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()

        def answer() -> None:
            peer, _ = other.accept()
            with peer:
                peer.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")
                peer.settimeout(20)
                while peer.recv(1024):
                    pass

        thread = threading.Thread(target=answer, daemon=True)
        thread.start()
        target = server.target()._replace(port=other.getsockname()[1])
        assert "speaks no SSH" in refused(target, timeout_s=5.0)
        thread.join(20)


@pytest.fixture
def gateway(tmp_path: Path) -> Iterator[sshd.Sshd]:
    with sshd.serving(tmp_path / "gate") as gate:
        yield gate


def jumping(server: sshd.Sshd, gate: sshd.Sshd, tmp_path: Path) -> SshTarget:
    """A target behind `gate`, both host keys on file, by a configuration of the user's own."""
    both = tmp_path / "both"
    both.write_text(server.known_hosts.read_text() + gate.known_hosts.read_text())
    config = tmp_path / "config"
    config.write_text(
        f"Host gate\n  HostName 127.0.0.1\n  Port {gate.port}\n  IdentityFile {gate.key}\n"
        f"Host gpu1\n  HostName 127.0.0.1\n  Port {server.port}\n  IdentityFile {server.key}\n  ProxyJump gate\n"
        f"Host *\n  User {server.target().user}\n  IdentitiesOnly yes\n  UserKnownHostsFile {both}\n"
    )
    return SshTarget("gpu1", config=str(config))


def test_a_jump_host_is_logged_in_to_first(
    server: sshd.Sshd, gateway: sshd.Sshd, tmp_path: Path, payload: Payload, state: str
) -> None:
    with (
        ssh.connect(jumping(server, gateway, tmp_path)) as link,
        link.open_wire("reading", payload=payload, state=state) as wire,
    ):
        assert wire.call("ping") == {}
    assert "Accepted publickey" in gateway.log


def test_the_jump_hosts_key_is_checked_too(server: sshd.Sshd, gateway: sshd.Sshd, tmp_path: Path) -> None:
    target = jumping(server, gateway, tmp_path)
    (tmp_path / "both").write_text(server.known_hosts.read_text())
    message = refused(target)
    assert message.startswith("gate (")
    assert fingerprint(gateway.root / "host.pub") in message


def test_a_jump_host_that_cannot_reach_the_target_is_said(
    server: sshd.Sshd, gateway: sshd.Sshd, tmp_path: Path
) -> None:
    target = jumping(server, gateway, tmp_path)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
        message = refused(target._replace(port=port))
    assert "the jump host cannot reach it (Connect failed)" in message


RELAY = """
import os, socket, sys, threading
s = socket.create_connection((sys.argv[1], int(sys.argv[2])))
def up():
    while chunk := os.read(0, 65536):
        s.sendall(chunk)
    s.shutdown(socket.SHUT_WR)
threading.Thread(target=up, daemon=True).start()
while chunk := s.recv(65536):
    os.write(1, chunk)
"""


def test_a_proxy_command_carries_the_connection(server: sshd.Sshd, tmp_path: Path) -> None:
    relay = tmp_path / "relay.py"
    relay.write_text(RELAY)
    config = tmp_path / "config"
    config.write_text(
        f"Host 127.0.0.1\n  ProxyCommand {sys.executable} {relay} %h {server.port}\n  HostKeyAlias [127.0.0.1]:{server.port}\n"
    )
    target = server.target()._replace(address="127.0.0.1", config=str(config), port=None)
    ssh.connect(target).close()


def test_a_proxy_command_that_fails_is_said(server: sshd.Sshd, tmp_path: Path) -> None:
    (tmp_path / "config").write_text("Host gpu1\n  ProxyCommand exit 3\n")
    target = server.target()._replace(address="gpu1", config=str(tmp_path / "config"))
    assert refused(target).endswith("the connection was closed before SSH had begun")


def test_a_proxy_command_outlives_the_ctrl_c_that_asks_us_to_stop() -> None:
    with proxy.command("sh -c 'kill -INT $$; echo alive'") as connection:
        assert connection.recv(16) == b"alive\n"


@pytest.mark.parametrize(
    "says",
    [b"220 mail.example.net ESMTP\r\n" * 200, bytes(range(256)) * 4, b"SSH-2.0-x\r\n", b""],
    ids=["another service", "garbage", "a banner alone", "silence"],
)
def test_what_speaks_no_ssh_is_said_in_words(tmp_path: Path, says: bytes) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def speak() -> None:
            connection, _ = listening.accept()
            with connection, contextlib.suppress(ConnectionError):
                connection.sendall(says)
                while connection.recv(1 << 16):
                    pass

        thread = threading.Thread(target=speak, daemon=True)
        thread.start()
        port = listening.getsockname()[1]
        target = SshTarget("127.0.0.1", user="ops", port=port, known_hosts=str(tmp_path / "known_hosts"))
        said = "what listens there speaks no SSH, or not in time"
        assert refused(target, timeout_s=1.0) == f"ops@127.0.0.1:{port}: {said}"
        thread.join()
