"""The bytes that releases share: each once under `objects/<sha256>`, never edited, verified whenever they are read."""

from __future__ import annotations

import os
import re

from runbook.onhost import state as directory
from runbook.onhost.calls import Refusal
from runbook.onhost.files import content_of, digest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection

_OURS = re.compile(r"[0-9a-f]{64}(\.new)?")  # an object, or one that a crash left half written
_MODE = 0o400


def path_of(state: str, sha256: str) -> str:
    """Where the bytes of a digest lie."""
    return os.path.join(state, "objects", sha256)


def keep(state: str, contents: Collection[bytes]) -> None:
    """Have these bytes on the disk before anything names them. A damaged object is made anew of the bytes at hand."""
    home = os.path.join(state, "objects")
    directory.make_private(home)
    for content in contents:
        path = os.path.join(home, str(digest(content)))
        if not _is_whole(path):
            directory.write_bytes(path, content, mode=_MODE)
    # Also where nothing was written: whoever wrote an object we found may have been killed before this.
    directory.sync_directory(home)


def _is_whole(path: str) -> bool:
    return os.path.exists(path) and digest(content_of(path)) == os.path.basename(path)


def read(path: str, sha256: str) -> bytes:
    """The bytes of a digest from where they are kept; Refusal `failed` where they are gone or are others."""
    try:
        content = content_of(path)
    except FileNotFoundError:
        raise Refusal("failed", f"{path} is gone", {"path": path}) from None
    if digest(content) != sha256:
        raise Refusal("failed", f"{path} is damaged", {"path": path})
    return content


def sweep(state: str, wanted: Collection[str]) -> None:
    """Remove every object but the wanted digests; for whoever holds the lock, since a release being saved has no manifest."""
    home = os.path.join(state, "objects")
    names = os.listdir(home) if os.path.isdir(home) else []
    for name in names:
        if _OURS.fullmatch(name) and name not in wanted:
            os.unlink(os.path.join(home, name))
