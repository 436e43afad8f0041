"""One real sshd a session, and a directory of its own for every test's state on the `host`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from runbook.bundle import helper_payload
from tests import sshd

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from runbook.ssh.boot import Payload


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[sshd.Sshd]:
    if sshd.binary() is None:
        pytest.skip("needs OpenSSH's sshd")
    with sshd.serving(tmp_path_factory.mktemp("sshd")) as running:
        yield running


@pytest.fixture(scope="session")
def payload() -> Payload:
    return helper_payload


@pytest.fixture
def state(tmp_path: Path) -> str:
    return str(tmp_path / "state")
