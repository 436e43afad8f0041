"""A script with the files it sources written in their places, so that one reading tells what its launch gets."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from runbook.edits import serve_script
from runbook.errors import EditRefusedError

if TYPE_CHECKING:
    import re

    from runbook.edits.serve_script import ScriptEnvironment, Sourced
    from runbook.places.reading import Files

_DEPTH = 5  # a file that sources itself ends here


class Origin(NamedTuple):
    """Where a line of the flat script stands; `sourced`: not in the script itself."""

    path: str
    line: int
    sourced: bool = False
    allexport: bool = False


class Flat(NamedTuple):
    """The flat script, the origin of each of its lines, and what it sources that could not be read."""

    content: bytes
    origins: tuple[Origin, ...]
    unread: tuple[str, ...] = ()


class _Around(NamedTuple):
    """The circumstances a file is read under."""

    files: Files
    followed: re.Pattern[str]
    depth: int = 0
    allexport: bool = False

    def inside(self, sourced: Sourced) -> _Around:
        return _Around(self.files, self.followed, self.depth + 1, self.allexport or sourced.allexport)


def flat(path: str, content: bytes, read: ScriptEnvironment, files: Files, followed: re.Pattern[str]) -> Flat:
    """The script with every sourced file in it that mentions a followed variable; others are left as they stand."""
    return _flat(path, content, read, _Around(files, followed))


def _flat(path: str, content: bytes, read: ScriptEnvironment, around: _Around) -> Flat:
    out, at, line = b"", 0, 1
    origins = [_origin(path, 1, around)]
    unread: list[str] = []
    for sourced in sorted(read.sourced, key=lambda each: each.span):
        inner = _inner(path, sourced, around)
        if isinstance(inner, str):
            unread.append(inner)
        if not isinstance(inner, Flat):
            continue
        piece = content[at : sourced.span[0]]
        origins += _lines(path, line, piece, around)
        line += content.count(b"\n", at, sourced.span[1])
        origins += [*inner.origins, _origin(path, line, around)]
        # A group of commands is no subshell, and keeps the conditions the source stood under.
        out += piece + b"{ :\n" + inner.content + b"\n}"
        at, unread = sourced.span[1], [*unread, *inner.unread]
    origins += _lines(path, line, content[at:], around)
    return Flat(out + content[at:], tuple(origins), tuple(unread))


def _origin(path: str, line: int, around: _Around) -> Origin:
    return Origin(path, line, around.depth > 0, around.allexport)


def _lines(path: str, line: int, piece: bytes, around: _Around) -> list[Origin]:
    return [_origin(path, line + 1 + n, around) for n in range(piece.count(b"\n"))]


def _inner(path: str, sourced: Sourced, around: _Around) -> Flat | str | None:
    """The flat text of a sourced file, why it is not known, or None where it says nothing of what we follow."""
    if not sourced.path.startswith("/"):
        return f"{path}:{sourced.line} sources {sourced.path}, and only a run can tell which file that is"
    content = around.files.content(sourced.path)
    if content is None:
        missing = around.files.missing(sourced.path) and sourced.where
        return None if missing else f"{around.files.why_not(sourced.path)} (sourced by {path}:{sourced.line})"
    text = around.files.text(content)
    try:
        whole = serve_script.read(text)
        content, found = _until_return(content, whole)
    except EditRefusedError as refused:
        return f"{sourced.path}: {refused} (sourced by {path}:{sourced.line})"
    if around.depth >= _DEPTH or not (around.followed.search(text) or found.sourced):
        return None
    inner = _flat(sourced.path, content, found, around.inside(sourced))
    hidden = found.unreadable.get("*")
    if hidden and "*" not in whole.unreadable:
        hidden = f"{_returning(content, whole)}, before `set` or its like"
    return inner._replace(unread=(f"{sourced.path}: {hidden}", *inner.unread)) if hidden else inner


def _until_return(content: bytes, read: ScriptEnvironment) -> tuple[bytes, ScriptEnvironment]:
    """A sourced text as far as it is read for sure; what stands behind a `return` under a condition is under it too."""
    if not read.returns:
        return content, read
    first = read.returns[0]
    text = content[: first.end]
    if not first.always:
        # no line more before the rest, for its assignments are told by their lines
        text += (b"" if text.endswith(b";") else b";") + b" if :; then :;" + content[first.end :] + b"\nfi"
    try:
        return text, serve_script.read(text.decode("utf-8", "surrogateescape"))
    except EditRefusedError as refused:
        raise EditRefusedError(f"{_returning(content, read)}, within braces") from refused


def _returning(content: bytes, read: ScriptEnvironment) -> str:
    line = content.count(b"\n", 0, read.returns[0].end) + 1
    return f"line {line}: only a run can tell whether it returns here"
