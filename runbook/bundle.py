"""What travels to the host: the helper's source, and the load generator with its needs as one archive."""

from __future__ import annotations

import base64
import hashlib
import importlib.util
import io
import marshal
import zlib
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from runbook import usercache
from runbook.onhost.bootstrap import compiled

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

_PACKAGE = Path(__file__).parent
_BOOTSTRAP = "runbook.onhost.bootstrap"
# The oldest date a zip can hold: an archive of the same contents is the same archive.
_EPOCH = (1980, 1, 1, 0, 0, 0)
PIECE_BYTES = 512 * 1024
KEPT = 4  # of each kind in the cache
# httpx and what it imports, as top-level names; on Python 3.10 anyio needs the last two.
NEEDS = (
    "httpx",
    "httpcore",
    "h11",
    "anyio",
    "idna",
    "certifi",
    "sniffio",
    "exceptiongroup",
    "typing_extensions",
)
_LEFT_OUT = (".pyc", ".pyi", ".toml")
_OPTIONAL = frozenset(("sniffio",))  # newer anyio and httpx do without


class Caller(Protocol):
    """The one method of a wire that is needed here."""

    def call(self, name: str, /, *, deadline_s: float = 60.0, **args: Any) -> Any: ...


class LoadZip(NamedTuple):
    """The archive and its SHA-256 digest, which is its name on the host."""

    digest: str
    content: bytes


def helper_payload(magic: bytes = b"", cache: Path | None = None) -> bytes:
    """The helper's modules as one zlib-compressed Python source that starts it; kept like the archive of `load_zip`.

    A Python with our own bytecode, as its `magic` number says, gets the modules compiled: that saves it half of its start.
    """
    modules = dict(_modules(_PACKAGE / "onhost", "runbook.onhost"))
    if magic == importlib.util.MAGIC_NUMBER:
        return _kept(f"helper-{magic.hex()}", "code", modules, _compiled, cache)
    return _kept("helper", "source", modules, _sources, cache)


def _sources(modules: Mapping[str, Path]) -> bytes:
    sources = _read(modules)
    bootstrap = sources.pop(_BOOTSTRAP)
    return zlib.compress(f"{bootstrap}\n\nstart({sources!r})\n".encode(), 9)


def _compiled(modules: Mapping[str, Path]) -> bytes:
    sources = _read(modules)
    bootstrap = sources.pop(_BOOTSTRAP)
    code = marshal.dumps({name: compiled(name, source) for name, source in sources.items()})
    unpacked = (
        f"marshal.loads(zlib.decompress(binascii.a2b_base64({base64.b64encode(zlib.compress(code, 9))!r})))"
    )
    return zlib.compress(f"{bootstrap}\n\nimport binascii, marshal, zlib\nstart({unpacked})\n".encode(), 9)


def _read(modules: Mapping[str, Path]) -> dict[str, str]:
    return {"runbook": "", **{name: path.read_text(encoding="utf-8") for name, path in modules.items()}}


def _modules(directory: Path, package: str) -> Iterator[tuple[str, Path]]:
    for path in sorted(directory.glob("*.py")):
        yield package if path.stem == "__init__" else f"{package}.{path.stem}", path


def load_zip(cache: Path | None = None) -> LoadZip:
    """The load generator with everything it imports, built once for a set of sources and then read from the cache.

    `cache` is the directory that keeps it, by default the user's own.
    """
    content = _kept("load", "zip", dict(_load_sources()), pack, cache)
    return LoadZip(hashlib.sha256(content).hexdigest(), content)


def _kept(
    what: str,
    suffix: str,
    sources: Mapping[str, Path],
    build: Callable[[Mapping[str, Path]], bytes],
    cache: Path | None,
) -> bytes:
    path = (cache or usercache.directory()) / f"{what}-{_stamp(sources)}.{suffix}"
    content = usercache.read(path)
    if content is None:
        content = build(sources)
        usercache.keep(path, content, most=KEPT)
    return content


def pack(sources: Mapping[str, Path]) -> bytes:
    """A zip of these files by archive name: equal contents give equal bytes."""
    import zipfile  # with its compressors; most runs find the archive kept

    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED, compresslevel=6) as archive:
        for name in sorted(sources):
            entry = zipfile.ZipInfo(name, _EPOCH)
            entry.external_attr = 0o600 << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, sources[name].read_bytes())
    return buffer.getvalue()


def _load_sources() -> Iterator[tuple[str, Path]]:
    yield "runbook/__init__.py", _PACKAGE / "__init__.py"
    yield from _tree(_PACKAGE / "load", "runbook/load")
    for need in NEEDS:
        yield from _need(need)


def _need(name: str) -> Iterator[tuple[str, Path]]:
    """The files of an installed top-level package or module."""
    spec = importlib.util.find_spec(name)
    if spec is None or spec.origin is None:
        if name in _OPTIONAL:
            return
        raise ModuleNotFoundError(f"{name} is needed for the load archive and is not installed", name=name)
    origin = Path(spec.origin)
    if origin.name == "__init__.py":
        yield from _tree(origin.parent, name)
    else:
        yield origin.name, origin


def _tree(directory: Path, name: str) -> Iterator[tuple[str, Path]]:
    for path in sorted(directory.rglob("*")):
        if path.is_file() and path.suffix not in _LEFT_OUT and "__pycache__" not in path.parts:
            yield f"{name}/{path.relative_to(directory).as_posix()}", path


def _stamp(sources: Mapping[str, Path]) -> str:
    """A digest of names, sizes and times, ours among them: whether what is kept is still the right one."""
    lines = (
        f"{name} {path} {path.stat().st_size} {path.stat().st_mtime_ns}"
        for name, path in sorted({**sources, "": Path(__file__)}.items())
    )
    return hashlib.sha256("\n".join(lines).encode("utf-8", "surrogateescape")).hexdigest()[:32]


def send_load(wire: Caller, state: str, archive: LoadZip | None = None) -> str:
    """Make sure the load generator is on the host; its directory there. One round trip where it already is."""
    archive = archive or load_zip()
    if not wire.call("cache_has", state=state, digest=archive.digest):
        for offset, piece in _pieces(archive.content):
            _put(wire, state, archive, offset, piece)
    return f"{state}/cache/{archive.digest}"


def _pieces(content: bytes) -> Iterable[tuple[int, bytes]]:
    return (
        (offset, content[offset : offset + PIECE_BYTES]) for offset in range(0, len(content), PIECE_BYTES)
    )


def _put(wire: Caller, state: str, archive: LoadZip, offset: int, piece: bytes) -> None:
    encoded = base64.b64encode(piece).decode("ascii")
    total = len(archive.content)
    wire.call("cache_put", state=state, digest=archive.digest, offset=offset, total=total, b64=encoded)


def load_argv(python: str, directory: str, args: Sequence[str]) -> list[str]:
    """The command that runs the load generator from its directory on the host.

    `-I -S` keep the host's own packages and environment out; `args` are those of `python -m runbook.load`.
    """
    path, run = (
        f"import sys, runpy; sys.path.insert(0, {directory!r})",
        "runpy.run_module('runbook.load', run_name='__main__', alter_sys=True)",
    )
    return [python, "-I", "-S", "-c", f"{path}; {run}", *args]
