"""Who could put another directory in a path's place: whoever may rename something that leads to it.

The rule is sshd's (StrictModes) with Debian's exception for user private groups: every directory on the way belongs to
root or to us and is writable by nobody else. A sticky one, such as /tmp, may be: in it only an entry's owner renames it.
"""

from __future__ import annotations

import os
import stat

from runbook.onhost import acl

TYPE_CHECKING = False
if TYPE_CHECKING:
    import grp
    import pwd
    from collections.abc import Collection, Iterator

_LINKS_MAX = 40  # as Linux follows them


def problem(path: str) -> str | None:
    """What is wrong with the way to `path`, itself included where it is there; None where it is ours or root's all along."""
    trusted = {0, os.geteuid()}
    return next((why for entry, found in way(path) if (why := _open_to(entry, found, trusted))), None)


def way(path: str) -> Iterator[tuple[str, os.stat_result]]:
    """Every directory and symlink that leads to an absolute path, from the root on, as far as there are any that we may see."""
    at, left, links = "/", _names(path), 0
    yield at, os.lstat(at)
    while left and links <= _LINKS_MAX:
        name = left.pop()
        if name == "..":  # of a symlink; `at` itself holds none
            at = os.path.dirname(at)
            continue
        entry = os.path.join(at, name)
        try:
            found = os.lstat(entry)
            target = os.readlink(entry) if stat.S_ISLNK(found.st_mode) else None
        except OSError:
            return
        yield entry, found
        if target is None:
            at = entry
        else:
            at, links = "/" if os.path.isabs(target) else at, links + 1
            left += _names(target)


def _names(path: str) -> list[str]:
    """The parts of a path, the last one first."""
    return [name for name in reversed(path.split("/")) if name not in ("", ".")]


def _open_to(entry: str, found: os.stat_result, trusted: Collection[int]) -> str | None:
    """Who else may rename what lies in `entry`, or `entry` itself where that lies in a sticky directory."""
    mode = stat.S_IMODE(found.st_mode)
    link = stat.S_ISLNK(found.st_mode)
    where = f"{'is reached by the symlink' if link else 'stands below'} {entry}, which"
    if found.st_uid not in trusted:
        return f"{where} belongs to {_name(found.st_uid)} (uid {found.st_uid}, mode {mode:04o})"
    if link or mode & stat.S_ISVTX:
        return None
    if mode & stat.S_IWOTH:
        return (
            f"{where} everybody can write (of {_name(found.st_uid)}, mode {mode:04o}; `chmod o-w` closes it)"
        )
    if mode & stat.S_IWGRP and _has_acl(entry):
        return f"{where} others can write by its ACL (mode {mode:04o}; `setfacl --remove-all` closes it)"
    if mode & stat.S_IWGRP and not _is_private(found.st_gid, trusted):
        return f"{where} its group can write (gid {found.st_gid}, mode {mode:04o}; `chmod g-w` closes it)"
    return None


def _has_acl(entry: str) -> bool:
    """Where there is one, the group's bit is the mask of everybody it names."""
    try:
        return hasattr(os, "listxattr") and acl.ATTRIBUTE in os.listxattr(entry)
    except OSError:  # a file system without such attributes
        return False


def _is_private(gid: int, trusted: Collection[int]) -> bool:
    import grp  # here and below, since few directories are writable by a group
    import pwd

    try:
        group = grp.getgrgid(gid)
    except KeyError:
        return False
    return private(group, [*pwd.getpwall(), *filter(None, map(_user, trusted))], trusted)


def private(group: grp.struct_group, users: Collection[pwd.struct_passwd], trusted: Collection[int]) -> bool:
    """Whether a group is the private one of a trusted user: it has their name, as pam_umask(8) asks, and holds nobody else.

    The name is asked for, since a directory service need not list its users: then who is in a group as their primary one
    is not seen.
    """
    ours = {user.pw_name for user in users if user.pw_uid in trusted}
    others = any(user.pw_gid == group.gr_gid and user.pw_uid not in trusted for user in users)
    return group.gr_name in ours and ours.issuperset(group.gr_mem) and not others


def _user(uid: int) -> pwd.struct_passwd | None:
    import pwd

    try:
        return pwd.getpwuid(uid)
    except KeyError:
        return None


def _name(uid: int) -> str:
    user = _user(uid)
    return user.pw_name if user else "nobody known"
