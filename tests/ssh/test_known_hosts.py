"""OpenSSH's rules for known_hosts; the last test asks ssh-keygen whether we read them as it does."""

from __future__ import annotations

import base64
import shutil
import subprocess
from typing import TYPE_CHECKING

import pytest

from runbook.ssh import known_hosts
from runbook.ssh.known_hosts import judge, names, parse

if TYPE_CHECKING:
    from pathlib import Path

A, B = b"key-a", b"key-b"


def encoded(key: bytes) -> str:
    return base64.b64encode(key).decode()


def line(hosts: str, key: bytes = A, kind: str = "ssh-ed25519", marker: str = "") -> str:
    return f"{marker + ' ' if marker else ''}{hosts} {kind} {encoded(key)} a comment\n"


def standing(text: str, key: bytes = A, host: str = "gpu1.example.net", port: int = 22) -> str:
    return judge(parse(text.encode(), "known_hosts"), host, port, key).standing


@pytest.mark.parametrize(
    ("text", "want"),
    [
        ("", "unknown"),
        (line("gpu1.example.net"), "known"),
        (line("other,gpu1.example.net,192.0.2.1"), "known"),
        (line("GPU1.Example.NET"), "known"),
        (line("*.example.net"), "known"),
        (line("gpu?.example.net"), "known"),
        (line("*.example.net,!gpu1.example.net"), "unknown"),
        (line("gpu[1].example.net"), "unknown"),
        (line("example.net"), "unknown"),
        (line("gpu1.example.net", B), "changed"),
        (line("gpu1.example.net", B) + line("gpu1.example.net", A), "known"),
        (line("gpu1.example.net", B, "ssh-rsa") + line("gpu1.example.net", A), "known"),
        (line("*", A, marker="@revoked"), "revoked"),
        (line("gpu1.example.net", A) + line("gpu1.example.net", A, marker="@revoked"), "revoked"),
        (line("gpu1.example.net", B, marker="@revoked"), "unknown"),
        (line("*.example.net", A, marker="@cert-authority"), "unknown"),
        ("# " + line("gpu1.example.net"), "unknown"),
        ("\n  \n" + line("gpu1.example.net"), "known"),
        ("gpu1.example.net ssh-ed25519\n" + line("gpu1.example.net"), "known"),
        ("gpu1.example.net ssh-ed25519 !!!\n", "unknown"),
        ("gpu1.example.net 1024 35 1234567890\n", "unknown"),
    ],
)
def test_a_shown_key_stands_as_the_file_says(text: str, want: str) -> None:
    assert standing(text) == want


@pytest.mark.parametrize(
    ("text", "want"),
    [
        (line("[gpu1.example.net]:2222"), "known"),
        (line("[gpu1.example.net]:2223"), "unknown"),
        (line("[*.example.net]:2222"), "known"),
        (line("gpu1.example.net"), "known"),
        (line("gpu1.example.net", B), "unknown"),
        (line("[gpu1.example.net]:2222", B) + line("gpu1.example.net"), "known"),
        (line("[gpu1.example.net]:2222", B), "changed"),
    ],
)
def test_another_port_has_a_name_of_its_own_and_the_bare_name_only_confirms(text: str, want: str) -> None:
    assert standing(text, port=2222) == want


def test_the_answer_shows_the_lines_that_decided() -> None:
    answer = judge(parse((line("x") + line("gpu1", B)).encode(), "kh"), "gpu1", 22, A)
    assert [one.where for one in answer.lines] == ["kh:2"]


def test_types_on_file_are_told_in_order_and_once() -> None:
    text = line("gpu1", A, "ssh-rsa") + line("gpu1", B, "ssh-ed25519") + line("gpu1", B, "ssh-rsa")
    assert known_hosts.kinds(parse(text.encode(), ""), "gpu1", 22) == ("ssh-rsa", "ssh-ed25519")


def test_bytes_that_are_no_text_do_not_stop_the_reading() -> None:
    assert len(parse(b"\xff\xfe junk\n" + line("gpu1").encode(), "kh")) == 1


def test_appending_goes_on_a_line_of_its_own(tmp_path: Path) -> None:
    path = tmp_path / ".ssh" / "known_hosts"
    known_hosts.append(path, known_hosts.entry("gpu1", 22, "ssh-ed25519", A))
    path.write_bytes(path.read_bytes().rstrip(b"\n"))
    known_hosts.append(path, known_hosts.entry("gpu2", 2222, "ssh-ed25519", B))
    lines = known_hosts.read([path])
    assert [one.hosts for one in lines] == ["gpu1", "[gpu2]:2222"]
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.parent.stat().st_mode & 0o777 == 0o700


def test_files_that_are_not_there_have_no_lines(tmp_path: Path) -> None:
    assert known_hosts.read([tmp_path / "none", tmp_path]) == ()


@pytest.mark.real
@pytest.mark.skipif(shutil.which("ssh-keygen") is None, reason="needs ssh-keygen")
@pytest.mark.parametrize("place", ["gpu1.example.net", "[gpu1.example.net]:2222"])
def test_hashed_names_and_fingerprints_are_those_of_ssh_keygen(tmp_path: Path, place: str) -> None:
    key = tmp_path / "key"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(key)], check=True)
    kind, text = key.with_name("key.pub").read_text().split()[:2]
    path = tmp_path / "known_hosts"
    path.write_text(f"{place} {kind} {text}\n")
    subprocess.run(["ssh-keygen", "-q", "-H", "-f", str(path)], check=True, capture_output=True)
    assert path.read_text().startswith("|1|")
    port = 2222 if "2222" in place else 22
    shown = base64.b64decode(text)
    assert judge(known_hosts.read([path]), "gpu1.example.net", port, shown).standing == "known"
    assert judge(known_hosts.read([path]), "gpu2.example.net", port, shown).standing == "unknown"
    listed = subprocess.run(
        ["ssh-keygen", "-lf", f"{key}.pub"], check=True, capture_output=True, text=True
    ).stdout
    assert listed.split()[1] == known_hosts.fingerprint(shown)


def test_the_standard_port_has_one_name() -> None:
    assert names("GPU1", 22) == ("gpu1",)
    assert names("gpu1", 2200) == ("[gpu1]:2200", "gpu1")
