"""Two real hosts for the whole run of system tests, booted when the first test asks for them."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, NoReturn

import pytest

from tests.system import requirements
from tests.system.boot import base
from tests.system.boot.commands import ProgramFailed
from tests.system.hosts import TestHost, fleet
from tests.system.operators import Operator
from tests.system.service import laying

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


# The user's own cache, found before the tests are given one that dies with them: a Debian is built once, not once a run.
CACHE = base.cache()


@pytest.fixture(scope="session")
def tree() -> Path:
    """The Debian that hosts are based on. Skips with the reason where they cannot be booted; fails where they must be."""
    if reason := requirements.obstacle(sys.platform, os.geteuid()):
        _do_without(reason)
    try:
        return base.built(base.mirror(), CACHE)
    except ProgramFailed as error:
        _do_without(f"no Debian could be built for the test hosts: {error}")


@pytest.fixture(scope="session")
def hosts(tree: Path) -> Iterator[tuple[TestHost, ...]]:
    """Both hosts of the run."""
    with fleet(CACHE, tree) as ours:
        yield ours.boot(("gpu1", "gpu2"))


@pytest.fixture(scope="module")
def boxes(tree: Path) -> Iterator[tuple[TestHost, ...]]:
    """Six hosts of a module's own, to be broken side by side."""
    with fleet(CACHE, tree) as ours:
        yield ours.boot([f"box{number}" for number in range(6)])


def _do_without(reason: str) -> NoReturn:
    if requirements.demanded():
        pytest.fail(f"{reason} (RUNBOOK_REQUIRE_SYSTEM=1 asks for these tests)", pytrace=False)
    pytest.skip(reason)


@pytest.fixture
def host(hosts: tuple[TestHost, ...]) -> TestHost:
    """The first host."""
    return hosts[0]


@pytest.fixture
def operators(tmp_path: Path) -> Operator:
    """An operator with a directory of their own."""
    return Operator(tmp_path / "operator")


@pytest.fixture
def operators_elsewhere(tmp_path: Path) -> Operator:
    """Another operator, at another laptop."""
    return Operator(tmp_path / "elsewhere")


@pytest.fixture
def operator(operators: Operator, host: TestHost) -> Operator:
    """An operator whose host is in the state before the fix."""
    laying.lay(host)
    operators.describe("gpu1", laying.host_file(host))
    return operators
