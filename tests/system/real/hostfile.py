"""hosts/real.yml: what stands in hosts/lab.yml, on the profile and under the names of a GPU host."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import yaml

from runbook.errors import UsageError
from runbook.inventory import templating
from runbook.lab.layout import package_home
from tests.system.real.workers import PORTS
from tests.system.service import laying

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from tests.system.hosts import TestHost

NAME = "real"
PROFILE = "sglang-dsv4-pd"
MARK = "# Written by `./invoke lab.up --real`; `./invoke lab.down --real` takes it away.\n"
_FROM_THE_LAB = ("traffic", "flags", "wait", "validations", "bench")


def path(directory: Path) -> Path:
    """Where the file stands in an operator's directory."""
    return directory / "hosts" / f"{NAME}.yml"


def refuse_foreign(file: Path) -> None:
    """Raises UsageError for a file of that name which somebody else wrote."""
    if file.exists() and not _ours(file):
        raise UsageError(
            f"{file} is not of lab.up's making: give that host another name, then lab.up --real again"
        )


def write(file: Path, host: TestHost) -> None:
    file.parent.mkdir(exist_ok=True)
    file.write_text(MARK + text(laying.ssh_of(host)))


def remove(file: Path) -> None:
    """Take the file away, edited since or not; one of somebody else's stays."""
    if file.exists() and _ours(file):
        file.unlink()


def text(ssh: Mapping[str, str]) -> str:
    """The YAML of a host that `ssh` reaches."""
    document = {"profile": PROFILE, "ssh": dict(ssh), **{key: _lab()[key] for key in _FROM_THE_LAB}}
    return yaml.safe_dump(document, sort_keys=False, width=120)


def _lab() -> dict[str, Any]:
    source = package_home() / "hosts" / "lab.yml"
    lab = {"root": "", "state": "", "user": "root", "ssh_port": 22, "python": "python3", "ports": PORTS}
    document: dict[str, Any] = yaml.safe_load(
        templating.filled(source.read_text(), str(source), {"lab": lab})
    )
    return document


def _ours(file: Path) -> bool:
    return file.read_bytes().startswith(MARK.encode())
