from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import pytest

from runbook import lab
from tests.endtoend.story import ROOT, Desk

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(scope="session")
def _lab_desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Desk]:
    directory = tmp_path_factory.mktemp("desk")
    (directory / "hosts").mkdir()
    shutil.copy(ROOT / "hosts" / "lab.yml", directory / "hosts" / "lab.yml")
    lab.up(directory / ".lab", say=print, usual_ports=False)
    yield Desk(directory)
    lab.down(directory / ".lab")


@pytest.fixture
def before(_lab_desk: Desk) -> Desk:
    """A lab in its before state: stale flag in both scripts, fix missing, no release."""
    return _reset(_lab_desk)


@pytest.fixture
def fixed(before: Desk) -> Desk:
    """A lab after a deploy without load."""
    return _deployed(before)


@pytest.fixture(scope="module")
def running(_lab_desk: Desk) -> Desk:
    """The same for all tests of a module, which leave the host as it was."""
    return _deployed(_reset(_lab_desk))


def _reset(desk: Desk) -> Desk:
    """The lab made anew, at a desk that knows nothing of an earlier one: its records would be missed in the chain."""
    shutil.rmtree(desk.directory / ".runbook", ignore_errors=True)
    lab.up(desk.directory / ".lab", say=print, usual_ports=False, reset=True)
    return desk


def _deployed(desk: Desk) -> Desk:
    document = desk.document("deploy", "--skip-validation")
    assert document["exit_code"] == 0, document
    return desk
