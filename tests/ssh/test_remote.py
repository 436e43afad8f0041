"""The wire against a real sshd: exact bytes, noise skipped, modes kept, and no orphan however it ends."""

from __future__ import annotations

import base64
import contextlib
import hashlib
import os
import shutil
import signal
import sys
import threading
import time
import tracemalloc
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from runbook import ssh
from runbook.errors import (
    FileChangedError,
    HelperError,
    LinkLostError,
    LockedError,
    MissingOnHostError,
    PreflightError,
    UnreachableError,
)
from runbook.onhost import lock
from runbook.ssh.row import asked
from tests import sshd
from tests.onhost.helper import alive, eventually

if TYPE_CHECKING:
    from collections.abc import Iterator

    from runbook.ssh.boot import Payload
    from runbook.ssh.link import Link
    from runbook.ssh.row import Asked
    from runbook.ssh.wire import OpenWire

pytestmark = pytest.mark.real

linux = pytest.mark.skipif(sys.platform != "linux", reason="a subreaper is a thing of Linux")


@pytest.fixture
def link(server: sshd.Sshd) -> Iterator[Link]:
    with ssh.connect(server.target()) as link:
        yield link


@pytest.fixture
def wire(link: Link, payload: Payload, state: str) -> OpenWire:
    return link.open_wire("writing", payload=payload, state=state)


def observed(wire: OpenWire, state: str, *files: Path) -> dict[str, Any]:
    look = looking(state, *files)
    found: dict[str, Any] = wire.call(look.name, **look.args)
    return found


def test_bytes_come_and_go_exactly(wire: OpenWire, state: str, tmp_path: Path) -> None:
    path = tmp_path / "caf\udce9.sh"
    old = bytes(range(256)) * 300
    path.write_bytes(old)
    found = observed(wire, state, path)["files"][str(path)]
    assert base64.b64decode(found["b64"]) == old
    new = old[::-1]
    wire.call(
        "files_write",
        changes=[{"path": str(path), "before": found["sha256"], "b64": base64.b64encode(new).decode()}],
    )
    assert path.read_bytes() == new


def test_errors_arrive_as_ours_with_what_they_carry(wire: OpenWire, state: str, tmp_path: Path) -> None:
    (tmp_path / "a").write_text("x")
    change = {"path": str(tmp_path / "a"), "before": "0" * 64, "b64": ""}
    with pytest.raises(FileChangedError, match="changed since it was read") as caught:
        wire.call("files_write", changes=[change])
    assert caught.value.data["path"] == str(tmp_path / "a")
    with pytest.raises(MissingOnHostError):
        wire.call("release_read", state=state, id="none")
    with pytest.raises(PreflightError, match="no call named 'nonsense'"):
        wire.call("nonsense")


def test_a_lower_mode_is_held_to_by_the_host(link: Link, payload: Payload, state: str) -> None:
    for mode in ("reading", "running"):
        with link.open_wire(mode, payload=payload, state=state) as wire:
            with pytest.raises(HelperError, match=f"this wire is only {mode}"):
                wire.call("lock", state=state, holder={})
            with pytest.raises(HelperError, match=f"this wire is only {mode}"):
                wire.call("files_write", changes=[])


def test_two_writers_on_one_host_exclude_each_other(
    wire: OpenWire, server: sshd.Sshd, payload: Payload, state: str
) -> None:
    wire.call("lock", state=state, holder={"who": "anna", "step": "plan"})
    with (
        ssh.connect(server.target()) as link,
        link.open_wire("writing", payload=payload, state=state) as other,
    ):
        with pytest.raises(LockedError, match="locked by anna") as caught:
            other.call("lock", state=state, holder={"who": "ben"})
        assert caught.value.data == {"who": "anna", "step": "plan"}
        wire.close()
        other.call("lock", state=state, holder={"who": "ben"})


def test_closing_the_wire_returns_when_the_lock_is_free(wire: OpenWire, state: str) -> None:
    wire.call("lock", state=state, holder={"who": "me"})
    job = wire.call("job_start", argv=["sleep", "600"])
    wire.close()
    assert lock.holder(state) is None
    assert not alive(job["pid"])
    with pytest.raises(LinkLostError, match="it was closed"):
        wire.call("observe")


@pytest.mark.parametrize("ahead", [0, 1, 40])
def test_a_state_others_can_write_is_refused_at_the_start(
    link: Link, payload: Payload, tmp_path: Path, ahead: int
) -> None:
    (tmp_path / "open").mkdir()
    (tmp_path / "open").chmod(0o777)
    state = str(tmp_path / "open")
    with pytest.raises(PreflightError, match="writable by others"):
        link.open_wire("writing", payload=payload, state=state, ahead=[looking(state)] * ahead)


def looking(state: str, *files: Path) -> Asked:
    paths = [str(path) for path in files]
    return asked("observe", state=state, files=paths, units=[], names=[], patterns=[])


def written(wire: OpenWire, path: Path, before: bytes, after: bytes) -> None:
    digest, content = hashlib.sha256(before).hexdigest(), base64.b64encode(after).decode()
    wire.call("files_write", changes=[{"path": str(path), "before": digest, "b64": content}])


def test_what_is_asked_ahead_answers_the_first_calls(
    link: Link, payload: Payload, state: str, tmp_path: Path
) -> None:
    path = tmp_path / "serve.sh"
    path.write_bytes(b"old")
    row = [asked("machine", checkout=None), looking(state, path)]
    with link.open_wire("writing", payload=payload, state=state, ahead=row) as wire:
        assert "kernel" in wire.call("machine", checkout=None)
        path.write_bytes(b"new")
        assert wire.call("cache_has", state=state, digest="0" * 64) is not None
        seen = observed(wire, state, path)["files"][str(path)]
        assert base64.b64decode(seen["b64"]) == b"new", "an answer older than another call is let go"
    with link.open_wire("reading", payload=payload, state=state, ahead=row[1:]) as wire:
        assert eventually(lambda: bool(wire._wire._answers))  # type: ignore[attr-defined]
        path.write_bytes(b"newer")
        seen = observed(wire, state, path)["files"][str(path)]
        assert base64.b64decode(seen["b64"]) == b"new", "the host had answered before it was called"
        seen = observed(wire, state, path)["files"][str(path)]
        assert base64.b64decode(seen["b64"]) == b"newer", "once"


def test_another_first_call_is_never_answered_from_before(
    link: Link, payload: Payload, state: str, tmp_path: Path
) -> None:
    path = tmp_path / "serve.sh"
    path.write_bytes(b"old")
    with link.open_wire("writing", payload=payload, state=state, ahead=[looking(state, path)] * 2) as wire:
        written(wire, path, b"old", b"new")
        seen = observed(wire, state, path)["files"][str(path)]
        assert base64.b64decode(seen["b64"]) == b"new"


def test_a_link_lost_while_an_answer_was_on_its_way_is_asked_again(
    link: Link, payload: Payload, state: str
) -> None:
    with link.open_wire("reading", payload=payload, state=state, ahead=[looking(state)]) as wire:
        link.transport.sock.close()
        assert observed(wire, state)["state"]["current"] is None


# ------------------------------------------------------------------ ends of every kind

DETACHED = "setsid sh -c 'trap \"\" TERM HUP; echo $$; while :; do sleep 1; done' & sleep 600"


def detached(wire: OpenWire) -> int:
    job = wire.call("job_start", argv=["sh", "-c", DETACHED])["job"]
    return int(wire.call("job_poll", job=job, wait_s=20.0)["lines"][0])


def helper_pid(wire: OpenWire) -> int:
    job = wire.call("job_start", argv=["sh", "-c", "echo $PPID"])["job"]
    return int(wire.call("job_poll", job=job, wait_s=20.0)["lines"][0])


def keep_asking(wire: OpenWire, state: str) -> None:
    for _ in range(1000):
        wire.call("cache_has", state=state, digest="0" * 64)


@linux
def test_a_killed_helper_is_told_and_takes_everything_along(wire: OpenWire, state: str) -> None:
    wire.call("lock", state=state, holder={"who": "me"})
    orphan, helper = detached(wire), helper_pid(wire)
    os.kill(helper, signal.SIGKILL)
    with pytest.raises(LinkLostError, match=r"the helper ended \(exit 137\)"):
        keep_asking(wire, state)
    assert not alive(orphan)
    assert lock.holder(state) is None


@linux
def test_a_cut_connection_leaves_nothing_on_the_host(link: Link, wire: OpenWire, state: str) -> None:
    wire.call("lock", state=state, holder={"who": "me"})
    orphan, helper = detached(wire), helper_pid(wire)
    link.transport.sock.close()
    with pytest.raises(LinkLostError, match=r"the link was lost during `\w+`: "):
        keep_asking(wire, state)
    assert eventually(lambda: not alive(helper) and not alive(orphan) and lock.holder(state) is None)


def test_a_reading_wire_logs_in_once_more_by_itself(link: Link, payload: Payload, state: str) -> None:
    with link.open_wire("reading", payload=payload, state=state) as wire:
        observed(wire, state)
        link.transport.sock.close()
        assert observed(wire, state)["state"]["current"] is None
        link.transport.sock.close()
        with pytest.raises(LinkLostError):
            observed(wire, state)


@pytest.mark.parametrize("mode", ["running", "writing"])
def test_any_other_wire_is_never_asked_twice(link: Link, payload: Payload, state: str, mode: Any) -> None:
    with link.open_wire(mode, payload=payload, state=state) as wire:
        observed(wire, state)
        link.transport.sock.close()
        with pytest.raises(LinkLostError):
            observed(wire, state)


def test_a_call_past_its_deadline_ends_the_wire(wire: OpenWire, state: str) -> None:
    job = wire.call("job_start", argv=["sleep", "600"])
    with pytest.raises(LinkLostError, match=r"lost during `job_poll`: no answer within 0\.2 s"):
        wire.call("job_poll", job=job["job"], wait_s=600.0, deadline_s=0.2)
    with pytest.raises(LinkLostError):
        wire.call("cache_has", state=state, digest="0" * 64)
    assert eventually(lambda: not alive(job["pid"]))


def test_a_link_that_falls_silent_is_noticed_without_a_call(
    server: sshd.Sshd, payload: Payload, state: str
) -> None:
    from runbook.ssh.remote import RemoteWire
    from runbook.ssh.start import Start

    with ssh.connect(server.target()) as link:
        started = Start(link.route.host, link.transport, "python3", payload, 30.0, None).run(
            "running", state, become=False
        )
        wire = RemoteWire(started, "running", "host", ping_every_s=0.1, silence_s=1.0)
        wire.hello(30.0)
        helper = helper_pid(wire)
        os.kill(helper, signal.SIGSTOP)
        try:
            with pytest.raises(LinkLostError, match="nothing was heard for 1 s"):
                wire.call("cache_has", state=state, digest="0" * 64)
        finally:
            os.kill(helper, signal.SIGCONT)
        wire.close()


def test_pings_keep_an_idle_helper_alive(server: sshd.Sshd, payload: Payload, state: str) -> None:
    from runbook.ssh.remote import RemoteWire
    from runbook.ssh.start import Start

    with ssh.connect(server.target()) as link:
        started = Start(link.route.host, link.transport, "python3", payload, 30.0, None).run(
            "reading", state, become=False
        )
        with RemoteWire(started, "reading", "host", ping_every_s=0.05, silence_s=20.0) as wire:
            wire.hello(30.0)
            before = wire._heard_at
            assert eventually(lambda: wire._heard_at > before + 0.3)
            assert wire.call("audit_place", state=state)["seq"] == 1


def test_calls_from_two_threads_get_their_own_answers(wire: OpenWire, state: str) -> None:
    found: dict[int, Any] = {}

    def ask(number: int) -> None:
        job = wire.call("job_start", argv=["echo", str(number)])["job"]
        lines: list[str] = []
        while not lines:
            lines = wire.call("job_poll", job=job, wait_s=20.0)["lines"]
        found[number] = lines

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == {number: [str(number)] for number in range(6)}


# ------------------------------------------------------------------ shells, noise, Python


@contextlib.contextmanager
def forced(root: Path, wrapper: str, **environment: str) -> Iterator[Link]:
    """A link whose every command goes through a wrapper in place of the login shell."""
    root.mkdir()
    script = sshd.script(root / "shell", wrapper)
    with (
        sshd.serving(root / "sshd", force=str(script), environment=environment) as server,
        ssh.connect(server.target()) as link,
    ):
        yield link


NOISE = """\
echo 'Welcome to gpu1! You have mail.'
printf 'no newline: RUNBOOK 3 11;'
echo "running: $SSH_ORIGINAL_COMMAND"
echo 'warning: quota' >&2
head -c 200000 /dev/zero
exec {shell} -c "$SSH_ORIGINAL_COMMAND"
"""


def test_login_noise_changes_nothing(tmp_path: Path, payload: Payload, state: str) -> None:
    with (
        forced(tmp_path / "noise", NOISE.format(shell="/bin/bash")) as link,
        link.open_wire("reading", payload=payload, state=state) as wire,
    ):
        assert observed(wire, state)["state"]["current"] is None


@pytest.mark.parametrize("shell", ["bash", "dash", "zsh", "tcsh", "csh", "fish", "ksh", "busybox"])
def test_the_login_shell_does_not_matter(tmp_path: Path, payload: Payload, state: str, shell: str) -> None:
    found = shutil.which(shell)
    if found is None:
        pytest.skip(f"{shell} is not installed")
    run = f"{found} sh" if shell == "busybox" else found
    with (
        forced(tmp_path / "shell", f'exec {run} -c "$SSH_ORIGINAL_COMMAND"\n') as link,
        link.open_wire("reading", payload=payload, state=state) as wire,
    ):
        assert wire.call("ping") == {}


def test_a_host_without_python_is_said_before_anything_is_touched(
    link: Link, payload: Payload, state: str
) -> None:
    with pytest.raises(PreflightError, match=r"no Python at `/no/such/python3` \(exit 127\)") as caught:
        link.open_wire("writing", payload=payload, state=state, python="/no/such/python3")
    assert "`python:` in the host file" in str(caught.value)
    assert not Path(state).exists()


def test_an_old_python_is_said_before_anything_is_touched(
    link: Link, payload: Payload, state: str, tmp_path: Path
) -> None:
    old = sshd.script(
        tmp_path / "python3.6", 'exec python3 "$1" "$2" "$3" "import sys; sys.version_info = (3, 6); $4"\n'
    )
    with pytest.raises(PreflightError, match=r"is Python 3\.6; the helper needs 3\.9 or later"):
        link.open_wire("writing", payload=payload, state=state, python=str(old))
    assert not Path(state).exists()


def test_an_account_that_takes_no_commands_is_said(tmp_path: Path, payload: Payload, state: str) -> None:
    nologin = "echo 'This account is currently not available.'; exit 1\n"
    with (
        forced(tmp_path / "nologin", nologin) as link,
        pytest.raises(
            UnreachableError,
            match=r"login shell ended \(exit 1\).*\n  This account is currently not available",
        ),
    ):
        link.open_wire("reading", payload=payload, state=state)


def test_a_shell_that_hangs_is_given_up(
    server: sshd.Sshd, tmp_path: Path, payload: Payload, state: str
) -> None:
    from runbook.ssh.start import Start

    with forced(tmp_path / "hang", "echo waiting for the network home; sleep 20\n") as link:
        start = Start(link.route.host, link.transport, "python3", payload, 3.0, None)
        with pytest.raises(
            UnreachableError, match=r"did not start within 3 s\n  waiting for the network home"
        ):
            start.run("reading", state, become=False)


@pytest.mark.parametrize("to", ["", " >&2"], ids=["stdout", "stderr"])
def test_a_login_that_never_stops_talking_is_given_up_in_bounded_memory(
    tmp_path: Path, payload: Payload, state: str, to: str
) -> None:
    with forced(tmp_path / "talks", f"exec yes 'mail for you'{to}\n") as link:
        tracemalloc.start()
        try:
            with pytest.raises(UnreachableError, match=r"Python did not start.*\n  mail for you"):
                link.open_wire("reading", payload=payload, state=state)
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
    assert peak < 40 << 20, f"{peak >> 20} MiB"


# ------------------------------------------------------------------ sudo, played by a script with sudo's own words

SUDO = """\
here="$(dirname "$0")"
echo "$*" >>"$here/asked"
[ "$LC_ALL" = C ] || {{ echo 'sudo: se requiere una contraseña' >&2; exit 1; }}
{before}
if [ "$1" = -n ]; then
  [ {ticket} = yes ] || {{ echo 'sudo: a password is required' >&2; exit 1; }}
  shift; exec "$@"
fi
prompt="$3"; shift 3
for try in 1 2 3; do
  printf %s "$prompt" >&2
  IFS= read -r password || exit 1
  if [ "$password" = 'geheim wort' ]; then exec "$@"; fi
  echo 'Sorry, try again.' >&2
done
echo 'sudo: 3 incorrect password attempts' >&2
exit 1
"""


@contextlib.contextmanager
def sudoing(root: Path, *, ticket: str = "no", before: str = "", ask: Any = None) -> Iterator[Link]:
    (root / "bin").mkdir(parents=True)
    sshd.script(root / "bin" / "sudo", SUDO.format(ticket=ticket, before=before))
    with (
        sshd.serving(root / "sshd", environment=sshd.path_with(root / "bin")) as server,
        ssh.connect(server.target(), ask=ask) as link,
    ):
        yield link


def test_passwordless_sudo_is_tried_first(tmp_path: Path, payload: Payload, state: str) -> None:
    with (
        sudoing(tmp_path / "s", ticket="yes") as link,
        link.open_wire("reading", payload=payload, state=state, become=True) as wire,
    ):
        assert wire.call("ping") == {}
    assert (tmp_path / "s" / "bin" / "asked").read_text().count("\n") == 1


def test_a_password_is_given_at_the_prompt_and_stays_out_of_the_helper(
    tmp_path: Path, payload: Payload, state: str
) -> None:
    asked: list[str] = []

    def ask(prompt: str) -> str:
        asked.append(prompt)
        return "geheim wort"

    with (
        sudoing(tmp_path / "s", ask=ask) as link,
        link.open_wire("writing", payload=payload, state=state, become=True) as wire,
    ):
        wire.call("lock", state=state, holder={"who": "me"})
    assert len(asked) == 1
    assert asked[0].startswith("sudo password for ")


def test_a_wrong_password_is_given_once(tmp_path: Path, payload: Payload, state: str) -> None:
    with (
        sudoing(tmp_path / "s", ask=lambda prompt: "wrong") as link,
        pytest.raises(UnreachableError, match="sudo did not accept the password"),
    ):
        link.open_wire("reading", payload=payload, state=state, become=True)


def test_nobody_to_ask_is_said(
    tmp_path: Path, payload: Payload, state: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("RUNBOOK_SUDO_PASSWORD_FILE", raising=False)
    with (
        sudoing(tmp_path / "s") as link,
        pytest.raises(UnreachableError, match="there is nobody to ask; name a file that holds it"),
    ):
        link.open_wire("reading", payload=payload, state=state, become=True)


@pytest.mark.parametrize(
    ("said", "want"),
    [
        ("sudo: sorry, you must have a tty to run sudo", "requiretty"),
        ("anna is not in the sudoers file.", "is not in its sudoers file"),
        ("Sorry, user anna may not run sudo on gpu1.", "may not run sudo there"),
    ],
)
def test_a_refusal_of_sudo_is_one_clear_message(
    tmp_path: Path, payload: Payload, state: str, said: str, want: str
) -> None:
    with (
        sudoing(tmp_path / "s", before=f"echo '{said}' >&2; exit 1") as link,
        pytest.raises(UnreachableError, match=want) as caught,
    ):
        link.open_wire("reading", payload=payload, state=state, become=True)
    assert said in str(caught.value)


def test_python_missing_under_sudo_is_said(tmp_path: Path, payload: Payload, state: str) -> None:
    with sudoing(tmp_path / "s", ticket="yes") as link, pytest.raises(PreflightError, match="no Python at"):
        link.open_wire("reading", payload=payload, state=state, become=True, python="/no/such/python3")


def test_a_digest_is_the_same_on_both_sides(wire: OpenWire, state: str, tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(b"abc")
    assert (
        observed(wire, state, tmp_path / "x")["files"][str(tmp_path / "x")]["sha256"]
        == hashlib.sha256(b"abc").hexdigest()
    )


def test_the_clock_of_the_host_is_told(wire: OpenWire, state: str) -> None:
    assert abs(observed(wire, state)["now"] - time.time()) < 60
