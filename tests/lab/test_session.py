"""Exec over SSH, with OpenSSH's client and with asyncssh: exact bytes, ends of streams, statuses, refusals."""

from __future__ import annotations

import asyncio
import hashlib
import os
import subprocess
import time
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import asyncssh
import pytest

from runbook.lab.state import LabState, Paths

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from tests.lab.fixtures import Shell

Result = TypeVar("Result")

pytestmark = pytest.mark.real


def test_bytes_go_through_exactly_both_ways(shell: Shell) -> None:
    blob = os.urandom(3_000_000) + bytes(range(256)) + "｜▁\r\n".encode()
    assert shell.run("cat", blob).stdout == blob


def test_stdout_and_stderr_stay_apart(shell: Shell) -> None:
    done = shell.run("printf out; printf err >&2; exit 7")
    assert (done.stdout, done.stderr, done.returncode) == (b"out", b"err", 7)


def test_the_end_of_stdin_arrives_while_output_goes_on(shell: Shell) -> None:
    blob = os.urandom(500_000)
    assert shell.run("sha256sum; echo done", blob).stdout.split() == [
        hashlib.sha256(blob).hexdigest().encode(),
        b"-",
        b"done",
    ]


def test_the_labs_tools_are_first_on_path_and_the_login_is_intact(shell: Shell, lab: LabState) -> None:
    lines = shell.text('command -v systemctl journalctl; echo "$HOME"; echo "$USER"; pwd').splitlines()
    home = str(Path.home())
    assert lines == [
        f"{lab.root}/bin/systemctl",
        f"{lab.root}/bin/journalctl",
        home,
        lab.user,
        os.path.realpath(home),
    ]


@pytest.mark.parametrize("word", ["'", '"', "$HOME", "a b", "*", "\\", "ünï｜"])
def test_a_command_reaches_the_shell_as_it_was_written(shell: Shell, word: str) -> None:
    import shlex

    assert shell.text(f"printf %s {shlex.quote(word)}") == word


def test_a_process_whose_connection_dies_sees_the_end_of_its_input_and_is_not_killed(
    shell: Shell, tmp_path: Path
) -> None:
    mark = tmp_path / "mark"
    client = subprocess.Popen(
        [*shell.argv(), f"echo ready; cat >/dev/null; sleep 0.3; echo survived >{mark}"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    with client:
        assert client.stdout
        assert client.stdout.readline() == b"ready\n"
        client.kill()
    deadline = time.monotonic() + 10
    while not mark.exists():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_a_dozen_sessions_on_one_connection_do_not_disturb_each_other(lab: LabState) -> None:
    async def talk(link: asyncssh.SSHClientConnection) -> list[tuple[str, int | None]]:
        ran = [link.run(f"sleep 0.0{n}; echo {n}; exit {n}") for n in range(9)]
        return [(str(done.stdout), done.exit_status) for done in await asyncio.gather(*ran)]

    assert over_ssh(lab, talk) == [(f"{n}\n", n) for n in range(9)]


def test_a_channel_closed_early_leaves_the_connection_up(lab: LabState) -> None:
    async def talk(link: asyncssh.SSHClientConnection) -> str:
        process = await link.create_process("yes")
        await process.stdout.readexactly(100_000)
        process.close()
        await process.wait_closed()
        return str((await link.run("echo still here")).stdout)

    assert over_ssh(lab, talk) == "still here\n"


def test_a_process_ended_by_a_signal_says_so(lab: LabState) -> None:
    async def talk(link: asyncssh.SSHClientConnection) -> str:
        return ((await link.run("kill -TERM $$")).exit_signal or ("none",))[0]

    assert over_ssh(lab, talk) == "TERM"


def test_a_signal_sent_over_ssh_reaches_the_process(lab: LabState) -> None:
    async def talk(link: asyncssh.SSHClientConnection) -> list[str]:
        process = await link.create_process(
            "trap 'echo got it; exit 0' USR1; echo ready; while :; do sleep 0.05; done"
        )
        first = str(await process.stdout.readline())
        process.send_signal("USR1")
        return [first, str(await process.stdout.read())]

    assert over_ssh(lab, talk) == ["ready\n", "got it\n"]


async def _nothing(link: asyncssh.SSHClientConnection) -> None:
    pass


@pytest.mark.parametrize("user", ["nobody", "", "root; id"])
def test_no_other_user_is_let_in(lab: LabState, user: str) -> None:
    with pytest.raises(asyncssh.PermissionDenied):
        over_ssh(lab, _nothing, user=user)


def test_no_other_key_is_let_in(lab: LabState, tmp_path: Path) -> None:
    asyncssh.generate_private_key("ssh-ed25519").write_private_key(tmp_path / "key")
    with pytest.raises(asyncssh.PermissionDenied):
        over_ssh(lab, _nothing, key=tmp_path / "key")


def test_forwarding_reaches_the_labs_servers(lab: LabState) -> None:
    async def talk(link: asyncssh.SSHClientConnection) -> bytes:
        reader, writer = await link.open_connection("127.0.0.1", lab.ports["decode"])
        writer.write(b"GET /health HTTP/1.0\r\n\r\n")
        answer = await reader.read(12)
        writer.close()
        return bytes(answer)

    assert over_ssh(lab, talk).startswith(b"HTTP/1.")


@pytest.mark.parametrize(
    ("host", "port", "code"),
    [
        ("192.0.2.1", 80, asyncssh.OPEN_ADMINISTRATIVELY_PROHIBITED),
        ("example.net", 80, asyncssh.OPEN_ADMINISTRATIVELY_PROHIBITED),
        ("127.0.0.1", 1, asyncssh.OPEN_CONNECT_FAILED),
    ],
)
def test_forwarding_elsewhere_is_forbidden_and_a_closed_port_refused(
    lab: LabState, host: str, port: int, code: int
) -> None:
    async def talk(link: asyncssh.SSHClientConnection) -> None:
        await link.open_connection(host, port)

    with pytest.raises(asyncssh.ChannelOpenError) as refused:
        over_ssh(lab, talk)
    assert refused.value.code == code


def test_keys_and_state_are_for_the_user_alone(lab: LabState) -> None:
    paths = Paths(lab.root)
    assert {oct(path.stat().st_mode & 0o777) for path in paths.keys.iterdir()} == {"0o600"}
    assert {oct(path.stat().st_mode & 0o777) for path in (lab.root, paths.keys, paths.run)} == {"0o700"}


def over_ssh(
    lab: LabState,
    talk: Callable[[asyncssh.SSHClientConnection], Awaitable[Result]],
    *,
    user: str | None = None,
    key: Path | None = None,
) -> Result:
    """What `talk` returns, given one connection to the lab."""
    keys = Paths(lab.root).keys

    async def run() -> Result:
        async with asyncssh.connect(
            "127.0.0.1",
            lab.ssh_port,
            username=lab.user if user is None else user,
            config=None,
            client_keys=[str(key or keys / "client_ed25519")],
            known_hosts=str(keys / "known_hosts"),
            agent_path=None,
        ) as link:
            return await talk(link)

    return asyncio.run(run())
