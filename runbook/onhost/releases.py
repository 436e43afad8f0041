"""Releases on the host: `releases/<id>/` with the bytes, `manifest.json` and `restore.sh`; `current`."""

from __future__ import annotations

import base64
import os
import re
import time

from runbook.onhost import files as reading_files
from runbook.onhost import lock, restore, room
from runbook.onhost import state as directory
from runbook.onhost.calls import Refusal, reading, writing

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from runbook.onhost.session import Session

_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,100}")


def summary(state: str) -> dict[str, Any]:
    """Current release, manifests in order of creation, the rollout in flight, the lock's holder; empty without a state."""
    if not directory.exists(state):
        return {"current": None, "releases": [], "inflight": None, "lock": None}
    return {
        "current": current(state),
        "releases": manifests(state),
        "inflight": directory.read_json(os.path.join(state, "inflight.json")),
        "lock": lock.holder(state),
    }


def current(state: str) -> str | None:
    """The release the host should be at, None before the first."""
    path = os.path.join(state, "current")
    return os.path.basename(os.readlink(path)) if os.path.islink(path) else None


def manifests(state: str) -> list[dict[str, Any]]:
    """Every whole release's manifest, oldest first."""
    root = os.path.join(state, "releases")
    names = os.listdir(root) if os.path.isdir(root) else []
    found = (
        directory.read_json(os.path.join(root, name, "manifest.json"))
        for name in names
        if _ID.fullmatch(name)
    )
    return sorted(
        (one for one in found if isinstance(one, dict)),
        key=lambda one: (one.get("created", ""), one.get("id", "")),
    )


def home(state: str, release: str) -> str:
    """A release's directory; Refusal `missing` where there is none of that name."""
    path = _path(state, release)
    if not os.path.isfile(os.path.join(path, "manifest.json")):
        raise Refusal("missing", f"no release {release} in {state}", {"id": release})
    return path


def _path(state: str, release: str) -> str:
    if not _ID.fullmatch(release):
        raise Refusal("invalid", f"{release!r} is no name of a release")
    return os.path.join(directory.absolute(state), "releases", release)


@reading
def release_read(session: Session, state: str, id: str) -> dict[str, Any]:
    path = home(state, id)
    manifest = directory.read_json(os.path.join(path, "manifest.json"))
    return {
        "manifest": manifest,
        "files": {record["path"]: _saved(path, record) for record in manifest["files"]},
    }


def _saved(release: str, record: Mapping[str, Any]) -> dict[str, str] | None:
    """A saved file's bytes; Refusal where they are no longer those the manifest names."""
    if record["sha256"] is None:
        return None
    content = reading_files.content_of(restore.saved(release, record["path"]))
    if reading_files.digest(content) != record["sha256"]:
        raise Refusal(
            "failed", f"{record['path']} as saved in {release} is damaged", {"path": record["path"]}
        )
    return {"b64": base64.b64encode(content).decode("ascii")}


@writing
def release_save(
    session: Session, state: str, manifest: Mapping[str, Any], files: list[str]
) -> dict[str, str]:
    release = str(manifest.get("id") or new_id())
    path = _path(directory.ensure(state), release)
    if os.path.lexists(path):
        raise Refusal("invalid", f"there is a release {release} already", {"id": release})
    looks = {name: reading_files.look(directory.absolute(name)) for name in files}
    _require_readable(looks)
    room.require((path, len(look["b64"] or "")) for look in looks.values())
    _lay(path, {**manifest, "id": release}, looks)
    return {"id": release}


def new_id() -> str:
    """A name that sorts by time and is nobody else's."""
    return f"{time.strftime('%Y%m%dT%H%M%SZ', time.gmtime())}-{os.urandom(3).hex()}"


def _require_readable(looks: Mapping[str, Mapping[str, Any]]) -> None:
    for path, look in looks.items():
        if look["error"]:
            raise Refusal("failed", f"{path} cannot be saved: {look['error']}", {"path": path})


def _lay(path: str, manifest: Mapping[str, Any], looks: Mapping[str, Mapping[str, Any]]) -> None:
    """Build the release beside its place and rename it there whole."""
    import shutil

    fresh = f"{path}.new"
    shutil.rmtree(fresh, ignore_errors=True)
    directory.make_private(fresh)
    records = [record(name, look) for name, look in looks.items()]
    for name, look in looks.items():
        if look["exists"]:
            _save(restore.saved(fresh, name), base64.b64decode(look["b64"]))
    directory.write_json(os.path.join(fresh, "manifest.json"), {**manifest, "files": records})
    script = restore.render(records, {name: look["real_path"] for name, look in looks.items()})
    directory.write_bytes(os.path.join(fresh, "restore.sh"), script, mode=0o700)
    os.rename(fresh, path)
    directory.sync_directory(os.path.dirname(path))


def record(path: str, look: Mapping[str, Any]) -> dict[str, Any]:
    """A file as a manifest holds it; `sha256` None where it is absent."""
    if not look["exists"]:
        return {"path": path, "sha256": None, "link": look["link"]}
    return {
        "path": path,
        "link": look["link"],
        **{key: look[key] for key in ("sha256", "mode", "uid", "gid")},
    }


def _save(path: str, content: bytes) -> None:
    directory.make_private(os.path.dirname(path))
    directory.write_bytes(path, content)


@writing
def release_update(session: Session, state: str, id: str, fields: Mapping[str, Any]) -> dict[str, Any]:
    path = os.path.join(home(state, id), "manifest.json")
    kept = {"id", "files"} & fields.keys()
    if kept:
        raise Refusal("invalid", f"{', '.join(sorted(kept))} of a release never change", {"id": id})
    directory.write_json(path, {**directory.read_json(path), **fields})
    return {}


@writing
def set_current(session: Session, state: str, id: str) -> dict[str, Any]:
    home(state, id)
    fresh = os.path.join(state, "current.new")
    directory.remove(fresh)
    os.symlink(os.path.join("releases", id), fresh)
    os.replace(fresh, os.path.join(state, "current"))
    directory.sync_directory(state)
    return {}


@writing
def release_remove(session: Session, state: str, id: str) -> dict[str, Any]:
    import shutil

    path = home(state, id)
    if id == current(state):
        raise Refusal("invalid", f"{id} is the current release", {"id": id})
    doomed = f"{path}.gone"
    os.rename(path, doomed)
    shutil.rmtree(doomed)
    directory.sync_directory(os.path.dirname(path))
    return {}
