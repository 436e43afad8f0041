"""Raw streams kept as evidence: a spool per session, and the gzip JSONL file of the sessions that were not clean.

The file's first line is `{"kind": "streams", "schema": 1, "run": {…}}` with everything needed to write the same
scripts again; every further line is one response: `{"session", "wave", "turn", "end", "status", "detail",
"stream"}`, the stream in base64.
"""

from __future__ import annotations

import base64
import contextlib
import dataclasses
import fcntl
import gzip
import json
import os
import shutil
import stat
import tempfile
import zlib
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Literal

from runbook.load.exchange import Answer

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

_IN_MEMORY = 128 << 10
MAX_LINE_BYTES = 128 << 20
MOST_BYTES = 2 << 30
KEPT_FILES = 50
"""Evidence files without a name of their own that stay on a machine: of a bad night's runs all, of a year's the last."""
_PREFIX, _SUFFIX = "runbook-", ".streams.jsonl.gz"
_DAMAGED = (
    ValueError,
    KeyError,
    TypeError,
    AttributeError,
    EOFError,
    OverflowError,
    RecursionError,
    zlib.error,
)


class Spool:
    """The responses of one session; beyond 128 KiB they lie on disk."""

    def __init__(self) -> None:
        self._file: IO[bytes] = tempfile.SpooledTemporaryFile(max_size=_IN_MEMORY)  # noqa: SIM115 - close()
        self._index: list[tuple[int, int, Answer]] = []

    def add(self, turn: int, answer: Answer) -> None:
        self._file.write(answer.stream)
        self._index.append((turn, len(answer.stream), dataclasses.replace(answer, stream=b"")))

    def answers(self) -> Iterator[tuple[int, Answer]]:
        """Turn number and answer, in order."""
        self._file.seek(0)
        for turn, size, answer in self._index:
            yield turn, dataclasses.replace(answer, stream=self._file.read(size))

    def close(self) -> None:
        self._file.close()


class StreamFile:
    """The evidence file; made with the first line that is written, at `path` or under a name of its own.

    A disk that takes no more of it ends no run: `lost` then says why, and nothing further is written. Nor is more than
    `most_bytes` before compression, which is what is read back of one.
    """

    def __init__(self, path: Path | None, run: Mapping[str, Any], *, most_bytes: int = MOST_BYTES) -> None:
        self._path = path
        self._run = run
        self._file: IO[str] | None = None
        self._lock: IO[bytes] | None = None
        self._left = most_bytes
        self.lost = ""

    @property
    def written(self) -> str | None:
        """The path, once there is something in it."""
        return str(self._path) if self._file else None

    def keep(self, session: int, wave: int, spool: Spool) -> None:
        """Every response of one session."""
        if self.lost:
            return
        try:
            self._keep(session, wave, spool)
        except OSError as error:
            self.lost = f"{self._path or 'a temporary file'}: {error.strerror or error}"

    def _keep(self, session: int, wave: int, spool: Spool) -> None:
        if self._file is None:
            self._path = self._path or _own_name()
            self._lock = _taken(self._path)
            self._file = gzip.open(self._path, "wt", encoding="ascii", compresslevel=5)  # noqa: SIM115 - close()
            self._line({"kind": "streams", "schema": 1, "run": dict(self._run)})
        for turn, answer in spool.answers():
            self._line(_document(session, wave, turn, answer))
            if self.lost:
                return

    def close(self) -> None:
        try:
            if self._file:
                self._file.close()
        except OSError as error:
            self.lost = self.lost or f"{self._path}: {error.strerror or error}"
        if self._lock:
            self._lock.close()

    def _line(self, document: Mapping[str, Any]) -> None:
        line = json.dumps(document) + "\n"
        self._left -= len(line)
        if self._left < 0:
            self.lost = f"{self._path}: it is as large as one may be"
        elif self._file:
            self._file.write(line)


def _taken(path: Path, mode: Literal["ab", "rb"] = "ab") -> IO[bytes]:
    """A hold on the file until it is closed: two runs in one file are the evidence of neither. Raises OSError.

    With `mode` "rb" a file that is gone stays so.
    """
    file: IO[bytes] = path.open(mode)
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        file.close()
        raise OSError(error.errno, "another run is writing it") from error
    return file


def _own_name() -> Path:
    """A new file only its owner can read."""
    handle, name = tempfile.mkstemp(prefix=_PREFIX, suffix=_SUFFIX)
    os.close(handle)
    prune(Path(name).parent, f"{_PREFIX}*{_SUFFIX}")
    return Path(name)


def prune(directory: Path, pattern: str, most: int = KEPT_FILES) -> None:
    """Remove all but the `most` youngest of our evidence files; none that a run holds, and nobody else's.

    Another run may do the same at the same time: what is gone meanwhile is none of ours any more.
    """
    by_age = sorted(
        (age, path) for path in directory.glob(pattern) if (age := _age_of_ours(path)) is not None
    )
    for _, path in by_age[:-most]:
        with contextlib.suppress(OSError), _taken(path, "rb"):
            path.unlink()


def _age_of_ours(path: Path) -> float | None:
    """When a file of ours was written last; None for what is gone, somebody else's or no file."""
    with contextlib.suppress(OSError):
        found = path.lstat()
        if stat.S_ISREG(found.st_mode) and found.st_uid == os.geteuid():
            return found.st_mtime
    return None


def _document(session: int, wave: int, turn: int, answer: Answer) -> dict[str, Any]:
    return {
        "session": session,
        "wave": wave,
        "turn": turn,
        "end": answer.end,
        "status": answer.status,
        "detail": answer.detail,
        "stream": base64.b64encode(answer.stream).decode("ascii"),
    }


def joined(parts: Sequence[str], path: Path | None) -> str | None:
    """The files of several processes as one at `path` (None: the first of them); a gzip file may be several in a row."""
    if not parts:
        return None
    whole, rest = (path, parts) if path else (Path(parts[0]), parts[1:])
    with whole.open("ab" if path is None else "wb") as file:
        for part in map(Path, rest):
            with part.open("rb") as content:
                shutil.copyfileobj(content, file)
            part.unlink()
    return str(whole)


@dataclasses.dataclass(frozen=True, slots=True)
class Kept:
    """One response read back from an evidence file."""

    session: int
    wave: int
    turn: int
    answer: Answer


class NoStreamFileError(ValueError):
    """The file is none of ours, or damaged."""


def read_streams(path: Path, *, most_bytes: int = MOST_BYTES) -> tuple[Mapping[str, Any], list[Kept]]:
    """The run's options and its kept responses. Raises NoStreamFileError, and OSError as files do.

    `most_bytes` bounds what the file unpacks to: a small one can hold a thousand times its size.
    """
    if path.is_fifo():
        raise NoStreamFileError(f"{path}: a pipe, and no file")
    try:
        with contextlib.closing(gzip.open(path, "rt", encoding="ascii")) as file:
            lines = map(json.loads, _lines(file, most_bytes))
            head: dict[str, Any] = next(lines, {})
            if head.get("kind") != "streams":
                raise NoStreamFileError("not a file of raw streams")
            return dict(head["run"]), [_kept(line) for line in lines if line.get("kind") != "streams"]
    except (*_DAMAGED, gzip.BadGzipFile) as error:
        raise NoStreamFileError(f"{path}: {str(error)[:200] or type(error).__name__}") from error


def _lines(file: IO[str], most_bytes: int) -> Iterator[str]:
    """The lines of a file, none longer than a response can be, and all of them no more than `most_bytes`."""
    left = most_bytes
    while line := file.readline(MAX_LINE_BYTES):
        if not line.endswith("\n"):
            raise NoStreamFileError("a line that is cut off, or longer than any response")
        left -= len(line)
        if left < 0:
            raise NoStreamFileError(f"more than {most_bytes} bytes of streams")
        yield line


def _kept(line: Mapping[str, Any]) -> Kept:
    answer = Answer(
        stream=base64.b64decode(line["stream"], validate=True),
        end=str(line["end"]),
        detail=str(line["detail"]),
        status=int(line["status"]),
    )
    return Kept(int(line["session"]), int(line["wave"]), int(line["turn"]), answer)
