"""Standard streams that never end a rollout: what cannot be written is dropped, and the exit code tells of it in the end.

A reader that leaves (`| head`), a full disk or a terminal that is gone must not stop a deploy between edit and restart.
"""

from __future__ import annotations

import errno
import io
import os
import select
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer


class Dropping(io.RawIOBase):
    """A descriptor to write to. `lost` is the first error; from then on everything is dropped.

    `closed_before`: /dev/null stands in for it, which takes everything, and nobody will have read it.
    """

    def __init__(self, descriptor: int, *, closed_before: bool = False) -> None:
        self._descriptor, self._closed_before = descriptor, closed_before
        self.lost: OSError | None = None

    def writable(self) -> bool:
        return True

    def fileno(self) -> int:
        return self._descriptor

    def isatty(self) -> bool:
        return os.isatty(self._descriptor)

    def write(self, content: ReadableBuffer, /) -> int:
        if self._closed_before:
            self.lost = self.lost or OSError(errno.EBADF, os.strerror(errno.EBADF))
        while self.lost is None:
            try:
                return os.write(self._descriptor, content)
            except BlockingIOError:  # a pipe that whoever started us made non-blocking
                select.select([], [self._descriptor], [])
            except OSError as error:
                self.lost = error
        return memoryview(content).nbytes


def replace() -> Dropping:
    """Put such streams in place of stdout and stderr; the one of stdout.

    A closed descriptor becomes /dev/null first: else the next file opened would be taken for a standard stream.
    """
    closed = [descriptor for descriptor in range(3) if _occupied(descriptor)]
    out = Dropping(1, closed_before=1 in closed)
    sys.stdout = text(out, sys.stdout.encoding if sys.stdout else "utf-8", by_line=out.isatty())
    sys.stderr = text(Dropping(2), sys.stderr.encoding if sys.stderr else "utf-8", by_line=True)
    return out


def _occupied(descriptor: int) -> bool:
    """Put /dev/null where nothing is open; whether that was so."""
    try:
        os.fstat(descriptor)
    except OSError:
        os.open(os.devnull, os.O_RDWR)  # takes the lowest number free, which is this one
        return True
    return False


def text(raw: Dropping, encoding: str, *, by_line: bool) -> io.TextIOWrapper:
    """A stream of text; a character its encoding lacks is written as an escape."""
    return io.TextIOWrapper(
        io.BufferedWriter(raw), encoding=encoding, errors="backslashreplace", line_buffering=by_line
    )
