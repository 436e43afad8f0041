"""Files as they are: exact bytes, where a symlink leads, owner, mode and times."""

from __future__ import annotations

import base64
import hashlib
import os
import stat

from runbook.onhost import state as directory
from runbook.onhost.calls import Refusal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# Serve scripts and units are a few KB; what is larger is not one, and would not fit the wire's frames.
LIMIT_BYTES = 8 * 1024 * 1024


def look(path: str, limit_bytes: int = LIMIT_BYTES) -> dict[str, Any]:
    """One file as `observe` tells it; `error` says why it could not be read, `denied` that we may not: `exists` is then True
    or unknown."""
    found: dict[str, Any] = {
        "exists": False,
        "real_path": os.path.realpath(path),
        "link": link_of(path),
        "b64": None,
        "error": None,
        "denied": False,
    }
    try:
        status = os.stat(path)
        content = content_of(path, limit_bytes)
    except FileNotFoundError:
        return found
    except (
        PermissionError
    ) as error:  # of the file, or of a directory above it, which hides whether there is one
        return {**found, "exists": os.path.lexists(path) or None, "error": error.strerror, "denied": True}
    except OSError as error:
        return {**found, "exists": os.path.lexists(path), "error": error.strerror}
    except Refusal as refusal:
        return {**found, "exists": True, "error": refusal.message}
    assert content is not None
    return {**found, **_described(status, content)}


def _described(status: os.stat_result, content: bytes) -> dict[str, Any]:
    return {
        "exists": True,
        "b64": base64.b64encode(content).decode("ascii"),
        "sha256": hashlib.sha256(content).hexdigest(),
        "mode": stat.S_IMODE(status.st_mode),
        "uid": status.st_uid,
        "gid": status.st_gid,
        "ctime_ns": status.st_ctime_ns,
        "mtime_ns": status.st_mtime_ns,
    }


def link_of(path: str) -> str | None:
    """The text of a symlink, None for anything else."""
    return os.readlink(path) if os.path.islink(path) else None


def content_of(path: str, limit_bytes: int = LIMIT_BYTES) -> bytes:
    """A regular file's bytes; Refusal for anything else and for what is too large."""
    with directory.opened(path, os.O_RDONLY | os.O_NONBLOCK) as descriptor:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise Refusal("invalid", f"{path} is not a regular file", {"path": path})
        if status.st_size > limit_bytes:
            raise _too_large(path, f"{status.st_size} bytes", limit_bytes)
        with os.fdopen(os.dup(descriptor), "rb") as file:
            content = file.read(limit_bytes + 1) or b""
        if len(content) > limit_bytes:  # it grew, or is a file of the kernel's, which have no size
            raise _too_large(path, f"more than {limit_bytes} bytes", limit_bytes)
        return content


def _too_large(path: str, size: str, limit_bytes: int) -> Refusal:
    return Refusal("invalid", f"{path} has {size}, at most {limit_bytes} are handled", {"path": path})


def digest(content: bytes | None) -> str | None:
    """SHA-256 in hexadecimal; None for an absent file."""
    return None if content is None else hashlib.sha256(content).hexdigest()
