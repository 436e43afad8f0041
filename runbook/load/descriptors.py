"""Open files: a session has a connection, and a spool on disk once its streams are long."""

from __future__ import annotations

import resource

A_SESSION = 2
OURS = 64


class TooManySessionsError(ValueError):
    """This machine does not let a process open that many files; one line."""

    def __init__(self, sessions: int, needed: int, limit: int) -> None:
        super().__init__(
            f"{sessions} sessions at once need {needed} open files and this machine allows {limit} (ulimit -n): "
            "fewer --sessions, or --concurrency"
        )


def make_room(sessions: int) -> None:
    """Raise this process's own limit as far as it may, where the sessions at once need more files than it allows."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    limit = limit_for(sessions, soft, hard)
    if limit == soft:
        return
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (limit, hard))
    except (
        ValueError,
        OSError,
    ) as error:  # above what the kernel itself allows, whatever the hard limit says
        raise TooManySessionsError(sessions, limit, soft) from error


def limit_for(sessions: int, soft: int, hard: int) -> int:
    """The soft limit to have for that many sessions at once, given those there are. Raises TooManySessionsError."""
    needed = OURS + A_SESSION * sessions
    if resource.RLIM_INFINITY in (soft, hard):
        return soft if soft == resource.RLIM_INFINITY else max(soft, needed)
    if needed > hard:
        raise TooManySessionsError(sessions, needed, hard)
    return max(soft, needed)
