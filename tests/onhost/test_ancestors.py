"""Whoever may rename something that leads to a path may put another in its place."""

from __future__ import annotations

import grp
import os
import pwd
import stat
import struct
from typing import TYPE_CHECKING

import pytest

from runbook.onhost import ancestors
from runbook.onhost.acl import ATTRIBUTE

if TYPE_CHECKING:
    from pathlib import Path

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root gives directories away")
STRANGER = 12345
ROOT = pwd.struct_passwd(("root", "x", 0, 0, "", "/root", "/bin/sh"))
ANN = pwd.struct_passwd(("ann", "x", 1000, 1000, "", "/home/ann", "/bin/sh"))
BOB = pwd.struct_passwd(("bob", "x", 1001, 1000, "", "/home/bob", "/bin/sh"))


@pytest.fixture
def above(tmp_path: Path) -> Path:
    path = tmp_path / "above"
    (path / "between").mkdir(parents=True, mode=0o700)
    return path


def test_what_leads_to_a_path_is_ours_or_roots(above: Path) -> None:
    assert ancestors.problem(str(above / "between")) is None
    assert ancestors.problem("/") is None


def test_everything_on_the_way_is_looked_at_through_symlinks(above: Path) -> None:
    (above / "absolute").symlink_to(above / "between")
    (above / "between" / "back").symlink_to("./..//absolute")
    seen = [path for path, _ in ancestors.way(f"{above}/between/back/absent/svc")]
    assert seen[0] == "/"
    assert seen[-1] == f"{above}/between"
    for path in ("between/back", "absolute"):
        assert f"{above}/{path}" in seen


def test_symlinks_in_a_circle_have_an_end(above: Path) -> None:
    (above / "a").symlink_to("b")
    (above / "b").symlink_to("a")
    assert ancestors.problem(f"{above}/a/svc") is None  # whoever opens it says what is wrong


@pytest.mark.parametrize("place", ["between", "between/absent/svc"])
def test_a_directory_that_everybody_can_write_is_one(above: Path, place: str) -> None:
    above.chmod(0o707)
    who = pwd.getpwuid(os.geteuid()).pw_name
    assert ancestors.problem(str(above / place)) == (
        f"stands below {above}, which everybody can write (of {who}, mode 0707; `chmod o-w` closes it)"
    )


def test_a_sticky_one_is_fine_as_long_as_what_lies_in_it_is_ours(above: Path) -> None:
    above.chmod(0o1777)
    assert ancestors.problem(str(above / "between")) is None


@as_root
def test_in_a_sticky_one_what_is_another_users_is_theirs_to_rename(above: Path) -> None:
    above.chmod(0o1777)
    os.chown(above / "between", STRANGER, STRANGER)
    said = ancestors.problem(str(above / "between"))
    assert said == f"stands below {above}/between, which belongs to nobody known (uid 12345, mode 0700)"


@as_root
@pytest.mark.parametrize("mode", [0o755, 0o1777])
def test_a_directory_of_another_user_is_one_sticky_or_not(above: Path, mode: int) -> None:
    above.chmod(mode)
    os.chown(above, STRANGER, STRANGER)
    assert f"stands below {above}, which belongs to" in str(ancestors.problem(str(above / "between")))


@as_root
def test_a_symlink_of_another_user_is_theirs_to_turn(above: Path) -> None:
    above.chmod(0o1777)
    (above / "link").symlink_to("between")
    os.chown(above / "link", STRANGER, STRANGER, follow_symlinks=False)
    said = str(ancestors.problem(str(above / "link")))
    assert said.startswith(f"is reached by the symlink {above}/link, which belongs to")


def test_where_a_symlink_lies_matters_as_where_it_leads(above: Path) -> None:
    (above / "open").mkdir()
    (above / "open" / "link").symlink_to(above / "between")
    (above / "open").chmod(0o777)
    assert f"stands below {above}/open" in str(ancestors.problem(f"{above}/open/link"))


@as_root
def test_a_group_of_others_may_not_write_it(above: Path) -> None:
    os.chown(above, 0, STRANGER)
    above.chmod(0o2775)
    assert ancestors.problem(str(above / "between")) == (
        f"stands below {above}, which its group can write (gid 12345, mode 2775; `chmod g-w` closes it)"
    )


@pytest.mark.parametrize(
    ("group", "members", "gid", "users", "is_private"),
    [
        ("ann", [], 1000, [ROOT, ANN], True),
        ("ann", ["ann"], 1000, [ROOT, ANN], True),
        ("root", [], 0, [ROOT, ANN], True),
        ("ann", ["ann", "bob"], 1000, [ROOT, ANN], False),
        ("ann", [], 1000, [ROOT, ANN, BOB], False),
        ("staff", [], 50, [ROOT, ANN], False),
        ("domain users", [], 1000, [ROOT, ANN], False),
        ("bob", ["bob"], 1001, [ROOT, ANN, BOB], False),
    ],
)
def test_a_private_group_has_its_users_name_and_nobody_else_in_it(
    group: str, members: list[str], gid: int, users: list[pwd.struct_passwd], is_private: bool
) -> None:
    named = grp.struct_group((group, "x", gid, members))
    assert ancestors.private(named, users, {0, 1000}) is is_private


@as_root
def test_a_home_that_its_private_group_may_write_is_fine(above: Path) -> None:
    if not ancestors.private(grp.getgrgid(0), pwd.getpwall(), {0}):
        pytest.skip("here the group of root holds others, as on Red Hat's systems")
    os.chown(above, 0, 0)
    above.chmod(0o775)
    assert ancestors.problem(str(above / "between")) is None


def acl(*entries: tuple[int, int, int]) -> bytes:
    return struct.pack("<I", 2) + b"".join(struct.pack("<HHI", *entry) for entry in entries)


def test_an_acl_may_name_others_behind_the_groups_bit(above: Path) -> None:
    nobody = 0xFFFFFFFF
    named = acl((1, 7, nobody), (2, 7, STRANGER), (4, 5, nobody), (16, 7, nobody), (32, 5, nobody))
    try:
        os.setxattr(above, ATTRIBUTE, named)
    except OSError:
        pytest.skip("the file system keeps no ACLs")
    assert stat.S_IMODE(above.stat().st_mode) == 0o775
    assert "others can write by its ACL" in str(ancestors.problem(str(above / "between")))
