"""The cache: archives named by their digest, received in pieces and unpacked once whole; what nobody uses any more goes."""

from __future__ import annotations

import base64
import hashlib
import os
import re
import time

from runbook.onhost import room
from runbook.onhost import state as directory
from runbook.onhost.calls import Refusal, running

TYPE_CHECKING = False
if TYPE_CHECKING:
    from runbook.onhost.session import Session

_DIGEST = re.compile(r"[0-9a-f]{64}")
LIMIT_BYTES = 256 * 1024 * 1024
# A load that runs imports from its archive until it ends, which is hours at most.
UNUSED_S = 7 * 24 * 3600.0


def home(state: str, digest: str) -> str:
    """Where an archive is unpacked; Refusal where the digest is none."""
    if not _DIGEST.fullmatch(digest):
        raise Refusal("invalid", f"{digest!r} is no SHA-256 digest")
    return os.path.join(directory.absolute(state), "cache", digest)


@running
def cache_has(session: Session, state: str, digest: str) -> bool:
    path = home(state, digest)
    if not (directory.exists(state) and os.path.isdir(path)):
        return False
    os.utime(path)  # it is about to be used
    return True


@running
def cache_put(
    session: Session, state: str, digest: str, offset: int, total: int, b64: str
) -> dict[str, bool]:
    path = home(directory.ensure(state), digest)
    if os.path.isdir(path):
        return {"done": True}
    directory.make_private(os.path.dirname(path))
    part = f"{path}.part"
    _append(part, offset, total, base64.b64decode(b64))
    if os.path.getsize(part) < total:
        return {"done": False}
    _unpack(part, path, digest)
    _sweep(os.path.dirname(path), time.time() - UNUSED_S)
    return {"done": True}


def _append(part: str, offset: int, total: int, piece: bytes) -> None:
    """The next piece. The first one begins anew, so what an earlier try left does not matter."""
    if total > LIMIT_BYTES or offset + len(piece) > total:
        raise Refusal("invalid", f"an archive of {total} bytes is not taken")
    if offset == 0:
        room.require([(os.path.dirname(part), 4 * total)])
    flags = os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | (os.O_TRUNC if offset == 0 else 0)
    with directory.opened(part, flags) as descriptor:
        size = os.fstat(descriptor).st_size
        if size != offset:
            raise Refusal("invalid", f"a piece at {offset} does not follow the {size} bytes that are there")
        os.pwrite(descriptor, piece, offset)


def _unpack(part: str, path: str, digest: str) -> None:
    with open(part, "rb") as file:
        found = hashlib.sha256(file.read()).hexdigest()
    if found != digest:
        os.unlink(part)
        raise Refusal("invalid", f"the archive arrived as {found}, not as {digest}")
    import shutil

    fresh = f"{path}.new"
    shutil.rmtree(fresh, ignore_errors=True)
    os.mkdir(fresh, directory.PRIVATE_DIRECTORY)
    _extract(part, fresh)
    os.rename(fresh, path)
    os.unlink(part)


def _sweep(root: str, before: float) -> None:
    """Remove what was last used before that moment: archives of other versions, and pieces of what never came whole."""
    import shutil

    for entry in os.scandir(root):
        if entry.stat(follow_symlinks=False).st_mtime >= before:
            continue
        if entry.is_dir(follow_symlinks=False):
            shutil.rmtree(entry.path, ignore_errors=True)
        else:
            directory.remove(entry.path)


def _extract(archive: str, target: str) -> None:
    """Plain files below the target; a name that leads out of it is refused before anything is written."""
    import zipfile

    with zipfile.ZipFile(archive) as file:
        for name in file.namelist():
            if os.path.isabs(name) or ".." in name.split("/"):
                raise Refusal("invalid", f"the archive holds {name!r}")
        file.extractall(target)
