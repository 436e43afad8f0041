"""A wire onto a directory of this machine, and a `systemctl` and `journalctl` that only remember what they were told."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest

from runbook.ssh import InProcessWire
from tests.onhost.saving import ODD
from tests.sshd import script

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@dataclass(frozen=True)
class FakeSystemd:
    """Programs on PATH that print what lies in `shown` and append their arguments to `asked`."""

    root: Path

    def shows(self, text: str) -> None:
        (self.root / "shown").write_text(text, encoding="utf-8")

    def journal(self, text: str) -> None:
        (self.root / "journal").write_text(text, encoding="utf-8")

    def lists(self, text: str) -> None:
        (self.root / "listed").write_text(text, encoding="utf-8")

    def environment(self, text: str) -> None:
        (self.root / "environment").write_text(text, encoding="utf-8")

    def fails(self, code: int, complaint: str) -> None:
        (self.root / "complaint").write_text(complaint, encoding="utf-8")
        (self.root / "code").write_text(str(code), encoding="utf-8")

    @property
    def asked(self) -> list[str]:
        return (self.root / "asked").read_text(encoding="utf-8").splitlines()


_SYSTEMCTL = """\
cd "$(dirname "$0")"
echo "$LC_ALL systemctl $*" >>asked
if [ "$1" = show ]; then cat shown; exit 0; fi
if [ "$1" = list-units ]; then cat listed; exit 0; fi
if [ "$1" = show-environment ] && [ -f environment ]; then cat environment; exit 0; fi
if [ -f code ]; then cat complaint >&2; exit "$(cat code)"; fi
"""
_JOURNALCTL = """\
cd "$(dirname "$0")"
echo "$LC_ALL journalctl $*" >>asked
cat journal
"""


@pytest.fixture
def systemd(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeSystemd:
    root = tmp_path / "bin"
    root.mkdir()
    script(root / "systemctl", _SYSTEMCTL)
    script(root / "journalctl", _JOURNALCTL)
    monkeypatch.setenv("PATH", f"{root}{os.pathsep}{os.environ['PATH']}")
    return FakeSystemd(root)


@pytest.fixture
def state(tmp_path: Path) -> str:
    return str(tmp_path / "state" / "svc")


@pytest.fixture
def writing() -> Iterator[InProcessWire]:
    with InProcessWire("writing") as wire:
        yield wire


@pytest.fixture
def locked(writing: InProcessWire, state: str) -> InProcessWire:
    """A wire that holds the deploy lock, as whoever saves and removes releases does."""
    writing.call("lock", state=state, holder={"who": "a test"})
    return writing


@pytest.fixture
def files(tmp_path: Path) -> dict[str, Path]:
    """What a release may have to hold: a script behind a link, a name no shell likes, and a file that is not there."""
    root = tmp_path / "srv"
    (root / "real").mkdir(parents=True)
    (root / "real" / "decode.sh").write_bytes(b"export A=1\n\xff")
    (root / "real" / "decode.sh").chmod(0o750)
    (root / "decode.sh").symlink_to("real/decode.sh")
    (root / ODD).write_bytes(b"odd\n")
    return {"link": root / "decode.sh", "odd": root / ODD, "absent": root / "absent.conf"}
