"""Releases on the host: `releases/<id>/` with `manifest.json` and `restore.sh`, their bytes in `objects/`; `current`."""

from __future__ import annotations

import base64
import os
import re
import time

from runbook.onhost import files as reading_files
from runbook.onhost import inflight, objects, origin, room
from runbook.onhost import state as directory
from runbook.onhost.calls import Refusal, reading, writing

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any, Optional

    from runbook.onhost.session import Session

_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,100}")
_PASSING = (".new", ".gone")  # a release being made, being removed


def summary(state: str) -> dict[str, Any]:
    """Current release, manifests in order of creation, the rollout in flight, the lock's holder; empty without a state.

    `damaged` names what lies among the releases and is none: a copy under another name, a manifest cut short, a release
    that another machine made.
    """
    if not directory.exists(state):
        return {"current": None, "releases": [], "damaged": [], "inflight": None, "lock": None}
    known = manifests(state)
    left, held = inflight.under_way(state)
    return {
        "current": current(state),
        "releases": known,
        "damaged": _damaged(state, known),
        "inflight": left,
        "lock": held,
    }


def current(state: str) -> str | None:
    """The release the host should be at, None before the first."""
    path = os.path.join(state, "current")
    return os.path.basename(os.readlink(path)) if os.path.islink(path) else None


def manifests(state: str) -> list[dict[str, Any]]:
    """Every whole release's manifest, oldest first."""
    found = [manifest for name in _names(state) if (manifest := _manifest(state, name)) is not None]
    return sorted(found, key=lambda one: (one["created"], one["id"]))


def set_once(known: Iterable[Mapping[str, Any]]) -> frozenset[str]:
    """Every variable that one of these manifests sets: a process may still run with it, though no file says it any more."""
    flags = (manifest.get("flags") for manifest in known)
    roles = (one.values() for one in flags if isinstance(one, dict))
    return frozenset(
        name for environments in roles for one in environments if isinstance(one, dict) for name in one
    )


def _damaged(state: str, known: list[dict[str, Any]]) -> list[str]:
    return sorted(f"{name}{_whose(state, name)}" for name in _names(state) - {one["id"] for one in known})


def _whose(state: str, release: str) -> str:
    found = directory.read_json(os.path.join(_path(state, release), "manifest.json"))
    other = origin.elsewhere(found) if isinstance(found, dict) else ""
    return f" (made on {other})" if other else ""


def _names(state: str) -> set[str]:
    """What lies among the releases; what a crash left of one being made or removed does not count."""
    root = os.path.join(state, "releases")
    names = os.listdir(root) if os.path.isdir(root) else []
    return {name for name in names if _ID.fullmatch(name) and not name.endswith(_PASSING)}


def _manifest(state: str, release: str) -> Optional[dict[str, Any]]:
    """A release's manifest; None where it is damaged, another release's (a copy by hand is not a release more) or another
    machine's."""
    found = directory.read_json(os.path.join(_path(state, release), "manifest.json"))
    whole = isinstance(found, dict) and found.get("id") == release and _is_whole(found)
    return found if whole and not origin.elsewhere(found) else None


def _is_whole(manifest: Mapping[str, Any]) -> bool:
    records = manifest.get("files")
    return (
        isinstance(manifest.get("created"), str)
        and isinstance(records, list)
        and all(_is_record(record) for record in records)
    )


def _is_record(record: Any) -> bool:
    return (
        isinstance(record, dict)
        and isinstance(record.get("path"), str)
        and isinstance(record.get("sha256", 0), (str, type(None)))
    )


def home(state: str, release: str) -> str:
    """A release's directory; Refusal `missing` where there is none of that name, or a damaged one."""
    path = _path(state, release)
    if not (directory.exists(state) and os.path.isdir(path)):
        raise Refusal("missing", f"no release {release} in {state}", {"id": release})
    if _manifest(state, release) is None:
        raise Refusal(
            "missing",
            f"release {release}{_whose(state, release)} in {state} is damaged: its manifest is none of this machine's",
            {"id": release},
        )
    return path


def sweep(state: str) -> None:
    """Remove what a crash left of releases being made or removed, and the bytes no release refers to; for whoever
    holds the lock."""
    import shutil

    root = os.path.join(state, "releases")
    for name in os.listdir(root) if os.path.isdir(root) else []:
        if name.endswith(_PASSING):
            shutil.rmtree(os.path.join(root, name), ignore_errors=True)
    known = manifests(state)
    # Nobody knows what a damaged release refers to, and its restore.sh may be whole.
    if not _damaged(state, known):
        objects.sweep(state, {record["sha256"] for one in known for record in one["files"]})


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
        "files": {record["path"]: _saved(state, id, record) for record in manifest["files"]},
    }


def _saved(state: str, release: str, record: Mapping[str, Any]) -> dict[str, str] | None:
    """A saved file's bytes; Refusal where they are no longer those the manifest names."""
    if record["sha256"] is None:
        return None
    try:
        content = objects.read(kept_at(state, release, record), record["sha256"])
    except Refusal as refusal:
        message = f"release {release} cannot give {record['path']} back: {refusal.message}"
        raise Refusal(refusal.kind, message, {**refusal.data, "id": release}) from None
    return {"b64": base64.b64encode(content).decode("ascii")}


def kept_at(state: str, release: str, record: Mapping[str, Any]) -> str:
    """Where a saved file's bytes are: releases from before there were objects hold copies of their own."""
    shared = objects.path_of(state, record["sha256"])
    copy = os.path.join(_path(state, release), "files") + record["path"]
    return copy if os.path.lexists(copy) and not os.path.lexists(shared) else shared


@writing
def release_save(
    session: Session, state: str, manifest: Mapping[str, Any], files: list[str]
) -> dict[str, str]:
    session.lock.require(state)
    release = str(manifest.get("id") or new_id())
    path = _path(directory.ensure(state), release)
    if os.path.lexists(path):
        raise Refusal("invalid", f"there is a release {release} already", {"id": release})
    looks = {name: reading_files.look(directory.absolute(name)) for name in files}
    _require_readable(looks)
    room.require((path, len(look["b64"] or "")) for look in looks.values())
    objects.keep(state, {base64.b64decode(look["b64"]) for look in looks.values() if look["exists"]})
    _lay(path, {**manifest, "id": release, origin.KEY: origin.here()}, looks)
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

    from runbook.onhost import restore  # only who saves pays for it

    fresh = f"{path}.new"
    shutil.rmtree(fresh, ignore_errors=True)
    directory.make_private(fresh)
    records = [record(name, look) for name, look in looks.items()]
    directory.write_json(os.path.join(fresh, "manifest.json"), {**manifest, "files": records})
    script = restore.render(records, {name: look["real_path"] for name, look in looks.items()})
    directory.write_bytes(os.path.join(fresh, "restore.sh"), script, mode=0o700)
    os.rename(fresh, path)
    directory.sync_directory(os.path.dirname(path))


def record(path: str, look: Mapping[str, Any]) -> dict[str, Any]:
    """A file as a manifest holds it; `sha256` None where it is absent."""
    if not look["exists"]:
        return {"path": path, "sha256": None, "link": look["link"]}
    from runbook.onhost import attributes

    return {
        "path": path,
        "link": look["link"],
        **{key: look[key] for key in ("sha256", "mode", "uid", "gid")},
        "xattrs": attributes.written(path),
    }


@writing
def release_update(session: Session, state: str, id: str, fields: Mapping[str, Any]) -> dict[str, Any]:
    path = os.path.join(home(state, id), "manifest.json")
    kept = {"id", "files", origin.KEY} & fields.keys()
    if kept:
        raise Refusal("invalid", f"{', '.join(sorted(kept))} of a release never change", {"id": id})
    directory.write_json(path, {**directory.read_json(path), **fields})
    return {}


@writing
def set_current(session: Session, state: str, id: str) -> dict[str, Any]:
    session.lock.require(state)
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

    session.lock.require(state)
    path = home(state, id)
    if id == current(state):
        raise Refusal("invalid", f"{id} is the current release", {"id": id})
    doomed = f"{path}.gone"
    os.rename(path, doomed)
    directory.sync_directory(os.path.dirname(path))
    shutil.rmtree(doomed)
    return {}
