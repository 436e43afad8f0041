"""The files of one look at a host, with what a plan would make of them laid over."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

    from runbook.model import FileState, Observation


class Files(NamedTuple):
    """`after` maps paths to their planned bytes (None: the file will be gone); every other file is as it was seen."""

    seen: Observation
    after: Mapping[str, bytes | None] = {}

    @property
    def known(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys((*self.seen.files, *self.seen.feeds)))

    def content(self, path: str) -> bytes | None:
        """A file's bytes; None where it is missing, could not be read or was not looked at."""
        if path in self.after:
            return self.after[path]
        state = self._state(path)
        return state.content if state else None

    def missing(self, path: str) -> bool:
        """Whether the file was looked for and is not there."""
        state = self._state(path)
        return state is not None and state.content is None and not state.error

    def why_not(self, path: str) -> str:
        """Why there are no bytes of a file."""
        state = self._state(path)
        reason = "was not looked at" if state is None else state.error or "is missing"
        return f"{path}: {reason}"

    @staticmethod
    def text(content: bytes) -> str:
        return content.decode("utf-8", "surrogateescape")

    def _state(self, path: str) -> FileState | None:
        return self.seen.files.get(path) or self.seen.feeds.get(path)
