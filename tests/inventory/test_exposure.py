from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from runbook import inventory
from tests.building import host

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def hosts(tmp_path: Path) -> Path:
    """A directory with a host file and two profiles that only their owner and group may write; the host is laid on `ours`."""
    (tmp_path / "hosts" / "profiles").mkdir(parents=True)
    for name in ("gpu1.yml", "profiles/ours.yml", "profiles/theirs.yml"):
        (tmp_path / "hosts" / name).write_text("", encoding="utf-8")
        (tmp_path / "hosts" / name).chmod(0o664)
    return tmp_path / "hosts"


def exposed(hosts: Path) -> list[str]:
    return [*inventory.exposed(host(profile="ours"), hosts_dir=hosts)]


def test_a_file_that_its_owner_and_group_write_is_no_remark(hosts: Path) -> None:
    assert exposed(hosts) == []


@pytest.mark.parametrize("name", ["gpu1.yml", "profiles/ours.yml"])
def test_a_file_that_everybody_can_write_is_one(hosts: Path, name: str) -> None:
    (hosts / name).chmod(0o666)
    (said,) = exposed(hosts)
    assert said == (
        f"{hosts / name}: everybody here can write it (mode 0666; `chmod o-w` closes it), and what it says is run on the host"
    )


def test_a_profile_that_the_host_is_not_laid_on_was_not_read(hosts: Path) -> None:
    (hosts / "profiles/theirs.yml").chmod(0o666)
    assert exposed(hosts) == []


def test_a_host_may_be_laid_on_none(hosts: Path) -> None:
    (hosts / "profiles/ours.yml").chmod(0o666)
    assert [*inventory.exposed(host(), hosts_dir=hosts)] == []


def test_so_is_one_that_everybody_can_replace(hosts: Path) -> None:
    hosts.parent.chmod(0o777)
    assert all(f"everybody here can write {hosts.parent} above it" in said for said in exposed(hosts))
    assert len(exposed(hosts)) == 2


def test_in_a_sticky_directory_nobody_else_can(hosts: Path) -> None:
    hosts.parent.chmod(0o1777)
    assert exposed(hosts) == []


def test_a_link_is_judged_by_where_it_leads(hosts: Path, tmp_path: Path) -> None:
    shared = tmp_path / "shared"
    shared.mkdir()
    shared.chmod(0o777)
    (shared / "gpu1.yml").write_text("", encoding="utf-8")
    (hosts / "gpu1.yml").unlink()
    (hosts / "gpu1.yml").symlink_to(shared / "gpu1.yml")
    assert [f"{shared} above it" in said for said in exposed(hosts)] == [True]


def test_what_cannot_be_looked_at_is_left_to_who_reads_it(hosts: Path) -> None:
    (hosts / "gpu1.yml").unlink()
    assert exposed(hosts) == []
