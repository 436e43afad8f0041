"""The way back, made sure of before the first write: while a release's files still lie on the disk, damaged bytes are no loss."""

from __future__ import annotations

import os

from runbook.onhost import objects, releases
from runbook.onhost import state as directory
from runbook.onhost.calls import Refusal, writing
from runbook.onhost.files import content_of, digest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from runbook.onhost.session import Session


@writing
def release_mend(session: Session, state: str, id: str) -> dict[str, list[str]]:
    """Keep anew what of a release is damaged; the files for which that was needed, and those that no longer can be."""
    session.lock.require(state)
    manifest = directory.read_json(os.path.join(releases.home(state, id), "manifest.json"))
    found: dict[str, list[str]] = {"mended": [], "damaged": []}
    for record in manifest["files"]:
        if record["sha256"] is not None and not _is_whole(state, id, record):
            found["mended" if _mend(state, record) else "damaged"].append(record["path"])
    return found


def _is_whole(state: str, release: str, record: Mapping[str, Any]) -> bool:
    try:
        objects.read(releases.kept_at(state, release, record), record["sha256"])
    except Refusal:
        return False
    return True


def _mend(state: str, record: Mapping[str, Any]) -> bool:
    try:
        content = content_of(record["path"])
    except (OSError, Refusal):
        return False
    if digest(content) != record["sha256"]:
        return False
    objects.keep(state, {content})
    return True
