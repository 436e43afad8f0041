"""Releases as tests save them, and one as versions before the shared objects left it."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from runbook.onhost.files import digest

if TYPE_CHECKING:
    from collections.abc import Iterable

    from runbook.ssh import InProcessWire

MANIFEST = {"created": "2026-01-05T10:00:00+00:00", "parent": None, "verdict": "adopted"}
ODD = 'it\'s $HOME `x` "y" \\ -n ;'


def save(wire: InProcessWire, state: str, files: Iterable[Path], **more: Any) -> str:
    answer: dict[str, str] = wire.call(
        "release_save", state=state, manifest={**MANIFEST, **more}, files=[str(path) for path in files]
    )
    return answer["id"]


def objects(state: str) -> set[str]:
    """The names of the objects there are, half written ones too."""
    home = Path(state, "objects")
    return {path.name for path in home.iterdir()} if home.is_dir() else set()


OLD_SCRIPT = """\
#!/bin/sh
set -eu
here=$(CDPATH= cd -- "$(dirname -- "$0")" && pwd)
cat -- "$here/files{path}" >"{path}"
"""


def old_release(state: str, name: str, path: Path) -> None:
    """Save a file as releases were before they shared objects: a copy beside the manifest."""
    home = Path(state, "releases", name)
    copy = Path(f"{home}/files{path}")
    copy.parent.mkdir(parents=True)
    copy.write_bytes(path.read_bytes())
    record = {"path": str(path), "sha256": digest(path.read_bytes()), "link": None, "mode": 0o644}
    owner = {"uid": os.geteuid(), "gid": os.getegid(), "xattrs": {}}
    manifest = {**MANIFEST, "id": name, "files": [{**record, **owner}]}
    (home / "manifest.json").write_text(json.dumps(manifest))
    (home / "restore.sh").write_text(OLD_SCRIPT.format(path=path))
    (home / "restore.sh").chmod(0o700)
