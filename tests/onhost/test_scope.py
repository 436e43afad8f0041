"""Units of the machine and units of a user are two worlds: every call asks the manager of its own."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import pytest

from runbook.onhost import scope
from runbook.onhost.calls import Refusal
from runbook.ssh import InProcessWire

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.onhost.conftest import FakeSystemd

UNIT = "serve.service"
CALLS = [
    ("units", {"units": [UNIT]}),
    ("daemon_reload", {}),
    ("unit_restart", {"unit": UNIT}),
    ("journal", {"unit": UNIT, "lines": 5}),
    ("serving", {"units": [UNIT], "words": []}),
    ("engine", {"units": [UNIT]}),
]


@pytest.fixture
def users() -> Iterator[InProcessWire]:
    with InProcessWire("writing", scope="user") as wire:
        yield wire


@pytest.mark.real
@pytest.mark.parametrize(("call", "args"), CALLS, ids=[call for call, _ in CALLS])
def test_a_users_wire_never_asks_the_machines_manager(
    users: InProcessWire, systemd: FakeSystemd, call: str, args: dict[str, Any]
) -> None:
    systemd.shows("LoadState=loaded\nActiveState=failed\nMainPID=0\n")
    users.call(call, **args)
    assert systemd.asked
    for asked in systemd.asked:
        assert "--user" in asked.split() or f"_UID={os.geteuid()} _SYSTEMD_USER_UNIT=" in asked


@pytest.mark.real
@pytest.mark.parametrize(("call", "args"), CALLS, ids=[call for call, _ in CALLS])
def test_the_machines_wire_never_asks_a_users_manager(
    writing: InProcessWire, systemd: FakeSystemd, call: str, args: dict[str, Any]
) -> None:
    systemd.shows("LoadState=loaded\nActiveState=failed\nMainPID=0\n")
    writing.call(call, **args)
    assert not any("--user" in asked for asked in systemd.asked)


@pytest.mark.real
def test_a_look_asks_the_users_manager_for_units_and_environment(
    users: InProcessWire, systemd: FakeSystemd, state: str
) -> None:
    systemd.shows("LoadState=loaded\nMainPID=0\n")
    users.call("observe", state=state, files=[], units=[UNIT], names=[], patterns=[])
    assert len(systemd.asked) == 2
    assert all(" --user " in asked for asked in systemd.asked)


@pytest.mark.real
def test_lines_of_a_users_process_that_ended_too_soon_are_found_by_its_pid(
    users: InProcessWire, systemd: FakeSystemd
) -> None:
    systemd.shows("ExecMainPID=159\n")
    systemd.journal("last words\n")
    assert users.call("journal", unit=UNIT, since=1767607200.0) == {"text": "last words"}
    assert systemd.asked[-1].endswith(f" + _UID={os.geteuid()} _PID=159")
    users.call("journal", unit=UNIT)
    assert "_PID" not in systemd.asked[-1], "without a moment, the PID may have been anybody's"


def test_a_scope_is_one_of_two() -> None:
    assert scope.checked("user") == "user"
    with pytest.raises(Refusal, match="no scope named '--user'"):
        scope.checked("--user")


@pytest.fixture
def login(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """A login that says nothing of the user's manager."""
    monkeypatch.delenv("XDG_RUNTIME_DIR", raising=False)
    monkeypatch.delenv("DBUS_SESSION_BUS_ADDRESS", raising=False)
    return monkeypatch


def test_the_users_manager_is_found_where_the_login_does_not_say(login: pytest.MonkeyPatch) -> None:
    login.setattr(os.path, "exists", lambda path: path == f"/run/user/{os.geteuid()}/systemd/private")
    scope.find_manager("system")
    assert "XDG_RUNTIME_DIR" not in os.environ
    scope.find_manager("user")
    assert os.environ["XDG_RUNTIME_DIR"] == f"/run/user/{os.geteuid()}"


def test_where_the_login_says_it_that_is_where_it_is_looked_for(
    login: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    login.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    with pytest.raises(Refusal, match=r"no systemd of uid .* runs on this host .*enable-linger") as caught:
        scope.find_manager("user")
    assert (caught.value.kind, caught.value.data) == ("missing", {"path": f"{tmp_path}/systemd/private"})
    (tmp_path / "bus").touch()
    scope.find_manager("user")
    assert os.environ["XDG_RUNTIME_DIR"] == str(tmp_path)
