"""Owner, mode, ACL, SELinux label and other extended attributes, carried from a file to its successor.

The successor is a descriptor: behind its name somebody who may write the directory could lay a symlink meanwhile.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat

from runbook.onhost.calls import Refusal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Union

# The file system keeps no such attributes, or this one is not ours to set although it may already be right.
_NONE_HERE = (errno.ENOTSUP, errno.ENOSYS)


def own(descriptor: int, uid: int | None, gid: int | None, path: str) -> None:
    """Give a file to a user and group; what it already is needs no privilege, None leaves it. Refusals name `path`."""
    found = os.fstat(descriptor)
    wanted = (found.st_uid if uid is None else uid, found.st_gid if gid is None else gid)
    if wanted == (found.st_uid, found.st_gid):
        return
    try:
        os.fchown(descriptor, *wanted)
    except PermissionError:
        message = f"{path} cannot be given to uid {wanted[0]}, gid {wanted[1]} by uid {os.geteuid()}"
        raise Refusal("failed", message, {"path": path}) from None


def extended(file: Union[str, int]) -> dict[str, bytes]:
    """A file's extended attributes; none where the system or the file system knows none."""
    if not hasattr(os, "listxattr"):
        return {}
    try:
        return {name: os.getxattr(file, name) for name in os.listxattr(file)}
    except OSError as error:
        if error.errno in _NONE_HERE:
            return {}
        raise


def copy_extended(source: str, descriptor: int, path: str) -> None:
    """Make the extended attributes those of the source; what cannot be carried is a Refusal."""
    wanted, found = extended(source), extended(descriptor)
    for name in found.keys() - wanted.keys():
        os.removexattr(descriptor, name)
    for name, value in wanted.items():
        if found.get(name) != value:
            _set(descriptor, name, value, path)


def _set(descriptor: int, name: str, value: bytes, path: str) -> None:
    try:
        os.setxattr(descriptor, name, value)
    except OSError as error:
        message = f"the attribute {name} of {path} cannot be carried over: {error.strerror}"
        raise Refusal("failed", message, {"path": path, "attribute": name}) from None


def written(path: str) -> dict[str, str]:
    """A file's extended attributes as a manifest keeps them, in hexadecimal: ACL, label, whatever somebody put there."""
    return {name: value.hex() for name, value in sorted(extended(path).items())}


def lay(descriptor: int, kept: Mapping[str, str]) -> None:
    """Give a file that was gone the attributes it had, as far as this file system and this user may: bytes matter more."""
    for name, value in kept.items():
        with contextlib.suppress(OSError, ValueError, AttributeError):
            os.setxattr(descriptor, name, bytes.fromhex(value))


def copy(source: str, descriptor: int, path: str) -> None:
    """Make a file look like the source in everything but its bytes; mode last, since chown clears bits."""
    found = os.stat(source)
    own(descriptor, found.st_uid, found.st_gid, path)
    copy_extended(source, descriptor, path)
    os.fchmod(descriptor, stat.S_IMODE(found.st_mode))
