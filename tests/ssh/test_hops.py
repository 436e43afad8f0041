"""From a target to the logins that lead there, as the user's configuration says."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from runbook.errors import UnreachableError
from runbook.model import SshTarget
from runbook.ssh import hops
from runbook.ssh.hops import expand, parse

pytestmark = pytest.mark.real  # ssh -G is a program

needs_ssh = pytest.mark.skipif(shutil.which("ssh") is None, reason="needs ssh")


def configured(tmp_path: Path, text: str) -> str:
    path = tmp_path / "config"
    path.write_text(text, encoding="utf-8")
    return str(path)


def way(tmp_path: Path, text: str, address: str, **more: object) -> list[str]:
    target = SshTarget(address=address, config=configured(tmp_path, text), **more)  # type: ignore[arg-type]
    return [f"{hop.user}@{hop.host}:{hop.port}" for hop in hops.hops(target)]


CONFIG = """
Host gpu1
  HostName 192.0.2.7
  User serving
  Port 2200
Host gpu2
  HostName gpu2.internal.example.net
  ProxyJump gate
Host gpu3
  ProxyJump ops@gate:2022,inner
Host gate
  HostName gate.example.net
  User jump
Host deep
  ProxyJump gpu2
Host loop1
  ProxyJump loop2
Host loop2
  ProxyJump loop1
Host free
  ProxyJump none
Match host m1
  User matched
Host *
  User everyone
"""


@needs_ssh
@pytest.mark.parametrize(
    ("address", "want"),
    [
        ("gpu1", ["serving@192.0.2.7:2200"]),
        ("gpu2", ["jump@gate.example.net:22", "everyone@gpu2.internal.example.net:22"]),
        ("gpu3", ["ops@gate.example.net:2022", "everyone@inner:22", "everyone@gpu3:22"]),
        (
            "deep",
            ["jump@gate.example.net:22", "everyone@gpu2.internal.example.net:22", "everyone@deep:22"],
        ),
        ("free", ["everyone@free:22"]),
        ("m1", ["matched@m1:22"]),
        ("192.0.2.9", ["everyone@192.0.2.9:22"]),
    ],
)
def test_aliases_users_ports_and_jumps_mean_what_they_mean_to_ssh(
    tmp_path: Path, address: str, want: list[str]
) -> None:
    assert way(tmp_path, CONFIG, address) == want


@needs_ssh
def test_what_the_host_file_says_counts_more(tmp_path: Path) -> None:
    assert way(tmp_path, CONFIG, "gpu1", user="root", port=2222) == ["root@192.0.2.7:2222"]


@needs_ssh
@pytest.mark.parametrize("address", ["loop1", "loop2"])
def test_jump_hosts_that_lead_back_are_said(tmp_path: Path, address: str) -> None:
    with pytest.raises(UnreachableError, match=f"the jump hosts of {address} form a loop"):
        way(tmp_path, CONFIG, address)


@needs_ssh
def test_a_host_that_jumps_through_itself_is_a_loop(tmp_path: Path) -> None:
    with pytest.raises(UnreachableError, match="loop"):
        way(tmp_path, "Host *\n  ProxyJump gate\n", "gate")


@needs_ssh
def test_a_broken_configuration_is_said_with_ssh_s_own_words(tmp_path: Path) -> None:
    with pytest.raises(
        UnreachableError, match=r"cannot be read: .*line 1: Bad configuration option: nonsense"
    ):
        way(tmp_path, "Nonsense yes\n", "gpu1")


@pytest.mark.parametrize("address", ["-oProxyCommand=touch /tmp/x", "", " "])
def test_an_address_that_is_an_option_never_reaches_ssh(address: str) -> None:
    with pytest.raises(UnreachableError, match="is no host name"):
        hops.hops(SshTarget(address=address))


@needs_ssh
def test_keys_and_known_hosts_are_found_with_tokens_and_home(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "keys").mkdir()
    (tmp_path / "keys" / "gpu1-root").touch()
    text = "Host gpu1\n  User root\n  IdentityFile ~/keys/%n-%r\n  IdentityFile ~/keys/none\n  IdentitiesOnly yes\n"
    text += f"  UserKnownHostsFile {tmp_path}/a {tmp_path}/b\n  HostKeyAlias gpus\n"
    (hop,) = hops.hops(SshTarget(address="gpu1", config=configured(tmp_path, text)))
    assert [path.name for path in hop.keys] == ["gpu1-root"]
    assert hop.only_keys
    assert hop.known_hosts[:2] == (tmp_path / "a", tmp_path / "b")
    assert hop.known_as == "gpus"


def test_a_target_of_its_own_reads_nothing_of_the_users(tmp_path: Path) -> None:
    target = SshTarget("127.0.0.1", "me", 2222, str(tmp_path / "key"), str(tmp_path / "known"), "none")
    (hop,) = hops.hops(target)
    assert (hop.host, hop.user, hop.port) == ("127.0.0.1", "me", 2222)
    assert hop.keys == (tmp_path / "key",)
    assert hop.known_hosts == (tmp_path / "known",)
    assert hop.only_keys


@pytest.mark.parametrize(
    ("named", "want"),
    [
        (None, "/run/agent"),
        ("SSH_AUTH_SOCK", "/run/agent"),
        ("none", None),
        ("~/.1password/agent.sock", "/home/a/.1password/agent.sock"),
        ("$MY_AGENT", "/run/mine"),
        ("${NO_SUCH_AGENT}", None),
    ],
)
def test_the_agent_is_the_one_the_configuration_names(
    named: str | None, want: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSH_AUTH_SOCK", "/run/agent")
    monkeypatch.setenv("MY_AGENT", "/run/mine")
    options = {} if named is None else {"identityagent": [named]}
    assert parse(options, "gpu1", Path("/home/a")).agent == want


def test_without_ssh_fabrics_parser_reads_the_same_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shutil, "which", lambda name: None)
    assert way(tmp_path, CONFIG, "gpu1") == ["serving@192.0.2.7:2200"]
    assert way(tmp_path, CONFIG, "gpu2") == [
        "jump@gate.example.net:22",
        "everyone@gpu2.internal.example.net:22",
    ]


def test_a_proxy_command_is_expanded() -> None:
    hop = parse(
        {"proxycommand": ["nc -X 5 %h %p"], "hostname": ["h"], "port": ["2200"]}, "x", Path("/home/a")
    )
    assert hop.proxy_command == "nc -X 5 h 2200"


@pytest.mark.parametrize(
    ("text", "want"), [("%h:%p", "host:22"), ("100%%", "100%"), ("%x %", "%x %"), ("%%h", "%h"), ("", "")]
)
def test_tokens_are_expanded_once(text: str, want: str) -> None:
    assert expand(text, {"h": "host", "p": "22"}) == want


@pytest.mark.parametrize(
    ("word", "want"),
    [
        ("gate", ("gate", None)),
        ("gate:2022", ("gate", 2022)),
        ("[2001:db8::1]:2022", ("2001:db8::1", 2022)),
        ("[2001:db8::1]", ("2001:db8::1", None)),
        ("2001:db8::1", ("2001:db8::1", None)),
    ],
)
def test_a_jump_names_its_port_or_not(word: str, want: tuple[str, int | None]) -> None:
    assert hops._place(word) == want
