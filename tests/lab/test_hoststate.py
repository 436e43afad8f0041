"""The state of the lab's host is where the helper accepts it."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from runbook.lab import hoststate
from runbook.lab.state import LabState
from runbook.onhost import state

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def root(tmp_path: Path) -> Path:
    path = tmp_path / "checkout" / ".lab"
    path.mkdir(parents=True, mode=0o700)
    return path


@pytest.fixture
def home(tmp_path: Path) -> Path:
    path = tmp_path / "home"
    path.mkdir(mode=0o700)
    return path


def opened(directory: Path) -> None:
    directory.chmod(0o777)


def test_it_is_beside_the_lab(root: Path, home: Path) -> None:
    assert hoststate.place(root, home) == root / "state"


def test_in_a_checkout_that_others_could_replace_it_is_in_our_home(root: Path, home: Path) -> None:
    opened(root.parent)
    place = hoststate.place(root, home)
    assert place.is_relative_to(home)
    assert state.ensure(str(place / "svc")) == str(place / "svc")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives directories away")
def test_so_it_is_in_a_checkout_of_another_user(root: Path, home: Path) -> None:
    os.chown(root.parent, 12345, 12345)
    assert hoststate.place(root, home).is_relative_to(home)


def test_two_labs_share_none(root: Path, home: Path) -> None:
    opened(root.parent)
    assert hoststate.place(root, home) != hoststate.place(root.with_name(".other"), home)


def test_where_neither_will_do_the_helper_says_so_of_the_labs_own(root: Path, home: Path) -> None:
    opened(root.parent)
    opened(home)
    assert hoststate.place(root, home) == root / "state"


def test_the_host_file_is_told(root: Path) -> None:
    lab = LabState(root, 22, {}, "ann", "/usr/bin/python3")
    assert lab.variables()["state"] == str(hoststate.of(root))
