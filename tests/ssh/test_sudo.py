"""What sudo says in C locale, and where a password comes from."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from runbook.errors import UnreachableError
from runbook.ssh import sudo

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    ("said", "want"),
    [
        ("sudo: sorry, you must have a tty to run sudo\n", "requiretty"),
        (
            "anna is not in the sudoers file.  This incident will be reported.\n",
            "anna is not in its sudoers file",
        ),
        ("Sorry, user anna may not run sudo on gpu1.\n", "anna may not run sudo there"),
        (
            "Sorry, user anna is not allowed to execute '/usr/bin/python3 -I' as root on gpu1.\n",
            "sudo does not allow anna to run Python there",
        ),
        ("bash: line 1: sudo: command not found\n", "there is no sudo"),
        ("env: 'sudo': No such file or directory\n", "there is no sudo"),
        (
            'sudo: The "no new privileges" flag is set, which prevents sudo from running as root.\n',
            "may not gain",
        ),
    ],
)
def test_a_refusal_has_one_clear_meaning(said: str, want: str) -> None:
    meaning = sudo.refusal(said, "anna")
    assert meaning is not None
    assert want in meaning


def test_what_sudo_never_said_has_none() -> None:
    assert sudo.refusal("Traceback (most recent call last):\n", "anna") is None


@pytest.mark.parametrize(
    ("said", "want"),
    [
        ("sudo: a password is required\n", True),
        ("sudo: a terminal is required to read the password; either use the -S option\n", True),
        ("sudo: command not found\n", False),
        ("", False),
    ],
)
def test_only_a_wanted_password_leads_to_asking_for_one(said: str, want: bool) -> None:
    assert sudo.wants_password(said) is want


def test_the_file_comes_before_the_person(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "password"
    path.write_text("geheim wort\n")
    path.chmod(0o600)
    monkeypatch.setenv(sudo.PASSWORD_FILE, str(path))
    assert sudo.password("gpu1", lambda prompt: "typed") == "geheim wort"
    monkeypatch.delenv(sudo.PASSWORD_FILE)
    assert sudo.password("gpu1", lambda prompt: f"typed at {prompt}") == "typed at sudo password for gpu1: "


@pytest.mark.real
def test_a_keyring_command_is_asked_before_the_person(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(sudo.PASSWORD_FILE, raising=False)
    monkeypatch.setenv(sudo.PASSWORD_COMMAND, "echo 'geheim wort'; echo 'a second line'")
    assert sudo.password("gpu1", lambda prompt: "typed") == "geheim wort"
    monkeypatch.setenv(sudo.PASSWORD_COMMAND, "exit 3")
    with pytest.raises(UnreachableError, match="the command failed"):
        sudo.password("gpu1", lambda prompt: "typed")


def test_without_either_it_is_said_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(sudo.PASSWORD_FILE, raising=False)
    with pytest.raises(
        UnreachableError, match=f"nobody to ask; name a file that holds it in {sudo.PASSWORD_FILE}"
    ):
        sudo.password("gpu1", None)


def test_a_password_file_others_can_read_is_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "password"
    path.write_text("x")
    path.chmod(0o644)
    monkeypatch.setenv(sudo.PASSWORD_FILE, str(path))
    with pytest.raises(UnreachableError, match="others may read this password"):
        sudo.password("gpu1", None)
    monkeypatch.setenv(sudo.PASSWORD_FILE, str(tmp_path / "none"))
    with pytest.raises(UnreachableError, match="cannot be read"):
        sudo.password("gpu1", None)
