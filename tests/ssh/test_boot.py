from __future__ import annotations

import pytest

from runbook.ssh import boot

NONCE = "0123abcd"


def test_the_line_holds_nothing_a_shell_would_read_otherwise() -> None:
    line = boot.boot_command("python3", NONCE)
    inside = line.removeprefix("python3 -I -S -c '").removesuffix("'")
    assert len(inside) < len(line)
    assert not set(inside) & set("!$\\'\n`")


def test_a_python_with_a_space_in_its_path_is_quoted() -> None:
    assert boot.boot_command("/opt/my venv/bin/python", NONCE).startswith(
        "'/opt/my venv/bin/python' -I -S -c "
    )


@pytest.mark.parametrize(
    "noise", [b"", b"Welcome!\n", b"echo without newline", b"\xff\x00", b"Last login: \r\n"]
)
def test_the_greeting_is_found_behind_any_noise(noise: bytes) -> None:
    found = boot.find_greeting(noise + (NONCE * 2).encode() + b" 3 11 a70d0d0a;\x00\x00rest", NONCE)
    assert found == boot.Greeting((3, 11), bytes.fromhex("a70d0d0a"), b"\x00\x00rest")


def test_a_shell_that_echoes_the_line_is_not_taken_for_an_answer() -> None:
    assert boot.find_greeting(boot.boot_command("python3", NONCE).encode(), NONCE) is None


@pytest.mark.parametrize("cut", range(1, 8))
def test_half_a_greeting_is_none_yet(cut: int) -> None:
    whole = (NONCE * 2).encode() + b" 3 11 a70d0d0a;"
    assert boot.find_greeting(whole[:-cut], NONCE) is None
