"""Files that everybody on the host may write: what they say is started as the service, often as root."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from runbook.model import Observation

_BY_OTHERS = 0o002


def warnings(seen: Observation) -> Iterator[str]:
    """One a file; a change keeps the mode it finds, so it is a person who closes it."""
    for path, file in sorted(seen.files.items()):
        if file.content is not None and file.mode & _BY_OTHERS:
            yield (
                f"{path} can be written by everybody on the host (mode {file.mode:04o}), and is started all the same; "
                f"`chmod o-w {file.real_path}`"
            )
