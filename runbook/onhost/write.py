"""Replace files so that every one is wholly old or wholly new, and all of them are the same of the two.

Compare every digest, check room, stage every new file beside its target, and only then rename one after the other,
keeping each old one at hand until the last is in place and read back.
"""

from __future__ import annotations

import base64
import contextlib
import os
from typing import NamedTuple

from runbook.onhost import attributes, command, room
from runbook.onhost import state as directory
from runbook.onhost.calls import Refusal, writing
from runbook.onhost.files import content_of, digest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

    from runbook.onhost.session import Session

_CHECK_TIMEOUT_S = 20.0


class Change(NamedTuple):
    """One file's wanted bytes, None: absent. `before` is the digest it must have now, None: absent.

    `xattrs` (hexadecimal) are for a file that is not there: one that is keeps its own.
    """

    path: str
    before: str | None
    content: bytes | None
    mode: int | None = None
    uid: int | None = None
    gid: int | None = None
    check: str | None = None
    xattrs: Mapping[str, str] = {}

    @classmethod
    def parse(cls, document: Mapping[str, Any]) -> Change:
        content = document.get("b64")
        return cls(
            path=directory.absolute(document["path"]),
            before=document.get("before"),
            content=None if content is None else base64.b64decode(content),
            mode=document.get("mode"),
            uid=document.get("uid"),
            gid=document.get("gid"),
            check=document.get("check"),
            xattrs=document.get("xattrs") or {},
        )


class Swap(NamedTuple):
    """A change and where it happens: the file itself, its staged successor, and the old one while we may need it."""

    change: Change
    target: str

    @property
    def fresh(self) -> str:
        return _beside(self.target, "new")

    @property
    def kept(self) -> str:
        return _beside(self.target, "old")


def _beside(target: str, what: str) -> str:
    # One writer holds the deploy lock, so the names may be fixed, and what a crash left is found again.
    return os.path.join(os.path.dirname(target), f".{os.path.basename(target)}.runbook-{what}")


@writing
def files_write(session: Session, changes: list[Mapping[str, Any]]) -> dict[str, str | None]:
    return write([Change.parse(change) for change in changes])


def write(changes: list[Change]) -> dict[str, str | None]:
    """Make every change or none; the digests now on the disk, by path.

    Refusal `changed` where a file is not what the plan saw, `no-space` or `read-only` before the first byte,
    `invalid` where a check refuses the new text, `failed` where the system refused.
    """
    swaps = [Swap(change, _target(change)) for change in changes]
    _require_distinct(swaps)
    for swap in swaps:
        _require_unchanged(swap)
    room.require((os.path.dirname(swap.target), len(swap.change.content or b"")) for swap in swaps)
    with _cleared(swaps):
        for swap in swaps:
            _stage(swap)
        _swap_all(swaps)
    return {swap.change.path: digest(swap.change.content) for swap in swaps}


def _target(change: Change) -> str:
    """Where the bytes are: behind a symlink, except when the file is to go, which removes the link."""
    if change.content is None:
        return os.path.join(os.path.realpath(os.path.dirname(change.path)), os.path.basename(change.path))
    return os.path.realpath(change.path)


def _require_distinct(swaps: list[Swap]) -> None:
    if len({swap.target for swap in swaps}) < len(swaps):
        raise Refusal(
            "invalid", "two changes lead to one file", {"paths": [swap.change.path for swap in swaps]}
        )


def _require_unchanged(swap: Swap) -> None:
    found = digest(_content(swap.change.path))
    if found != swap.change.before:
        path = swap.change.path
        message = f"{path} changed since it was read: found {_short(found)}, planned on {_short(swap.change.before)}"
        raise Refusal("changed", message, {"path": path, "found": found, "wanted": swap.change.before})


def _content(path: str) -> bytes | None:
    try:
        return content_of(path)
    except FileNotFoundError:
        return None


def _short(found: str | None) -> str:
    return "no file" if found is None else found[:12]


@contextlib.contextmanager
def _cleared(swaps: list[Swap]) -> Iterator[None]:
    """Nothing of ours lies beside the targets before (a crash may have left it), no successor after."""
    for swap in swaps:
        _unlink(swap.fresh)
        _unlink(swap.kept)
    try:
        yield
    finally:
        for swap in swaps:
            _unlink(swap.fresh)


def _unlink(path: str) -> None:
    with contextlib.suppress(FileNotFoundError, NotADirectoryError):
        os.unlink(path)


def _stage(swap: Swap) -> None:
    """Write the successor beside its target, complete in bytes and attributes, checked and on the disk."""
    content = swap.change.content
    if content is None:
        return
    os.makedirs(os.path.dirname(swap.target), mode=0o755, exist_ok=True)
    with directory.opened(swap.fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW) as descriptor:
        _write_all(descriptor, content)
        _dress(swap, descriptor)
        os.fsync(descriptor)
    _check(swap)


def _write_all(descriptor: int, content: bytes) -> None:
    view = memoryview(content)
    while view:
        view = view[os.write(descriptor, view) :]


def _dress(swap: Swap, descriptor: int) -> None:
    change = swap.change
    if os.path.exists(swap.target):
        attributes.copy(swap.target, descriptor, change.path)
    else:
        attributes.lay(descriptor, change.xattrs)
        if change.mode is None:
            os.fchmod(descriptor, 0o644)
    attributes.own(descriptor, change.uid, change.gid, change.path)
    if change.mode is not None:
        os.fchmod(descriptor, change.mode)


def _check(swap: Swap) -> None:
    """`bash -n` on the staged text, whose complaint then names the real file."""
    if swap.change.check is None:
        return
    if swap.change.check != "bash":
        raise Refusal("invalid", f"no check named {swap.change.check!r}")
    try:
        command.run(["bash", "-n", swap.fresh], timeout_s=_CHECK_TIMEOUT_S)
    except Refusal as refusal:
        complaint = refusal.message.replace(swap.fresh, swap.change.path)
        raise Refusal("invalid", complaint, {"path": swap.change.path, "check": "bash"}) from None


def _swap_all(swaps: list[Swap]) -> None:
    """Rename every successor into place; put every old file back when one of them cannot be."""
    begun: list[Swap] = []
    try:
        for swap in swaps:
            _keep(swap)
            begun.append(swap)
            _replace(swap)
        for swap in swaps:
            _read_back(swap)
    except (OSError, Refusal):
        for swap in reversed(begun):
            _put_back(swap)
        raise
    for swap in swaps:
        _unlink(swap.kept)


def _keep(swap: Swap) -> None:
    """A second name for the old file; a copy where the file system has no hard links."""
    _require_unchanged(swap)
    if not os.path.lexists(swap.target):
        return
    try:
        os.link(swap.target, swap.kept, follow_symlinks=False)
    except (OSError, NotImplementedError):
        _copy(swap.target, swap.kept)


def _copy(source: str, target: str) -> None:
    with directory.opened(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW) as descriptor:
        _write_all(descriptor, content_of(source))
        attributes.copy(source, descriptor, source)
        os.fsync(descriptor)


def _replace(swap: Swap) -> None:
    if swap.change.content is not None:
        os.replace(swap.fresh, swap.target)
    elif os.path.lexists(swap.target):
        os.unlink(swap.target)
    directory.sync_directory(os.path.dirname(swap.target))


def _put_back(swap: Swap) -> None:
    if os.path.lexists(swap.kept):
        os.replace(swap.kept, swap.target)
        _unlink(
            swap.kept
        )  # rename(2) leaves both names where they are one file, that is where nothing was replaced
    elif swap.change.before is None and os.path.lexists(swap.target):
        os.unlink(swap.target)
    directory.sync_directory(os.path.dirname(swap.target))


def _read_back(swap: Swap) -> None:
    found, wanted = digest(_content(swap.change.path)), digest(swap.change.content)
    if found != wanted:
        raise Refusal(
            "failed", f"{swap.change.path} reads back as {_short(found)}, {_short(wanted)} was written"
        )
