"""The open files that many sessions need."""

from __future__ import annotations

import resource

import pytest

from runbook.load.descriptors import TooManySessionsError, limit_for, make_room

NO_LIMIT = resource.RLIM_INFINITY


@pytest.mark.parametrize(
    ("sessions", "soft", "hard", "limit"),
    [
        (80, 1024, 4096, 1024),
        (1000, 1024, 4096, 2064),
        (1000, 1024, NO_LIMIT, 2064),
        (80, 1024, NO_LIMIT, 1024),
        (5000, NO_LIMIT, NO_LIMIT, NO_LIMIT),
    ],
)
def test_a_limit_is_raised_no_further_than_needed(sessions: int, soft: int, hard: int, limit: int) -> None:
    assert limit_for(sessions, soft, hard) == limit


def test_more_than_the_machine_allows_is_one_line() -> None:
    with pytest.raises(TooManySessionsError, match="5000 sessions at once need 10064 open files") as refused:
        limit_for(5000, 1024, 4096)
    assert "allows 4096 (ulimit -n): fewer --sessions" in str(refused.value)


def test_more_than_any_machine_allows_is_refused() -> None:
    with pytest.raises(TooManySessionsError):
        make_room(1 << 60)


def test_eighty_sessions_have_room() -> None:
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    make_room(80)
    assert resource.getrlimit(resource.RLIMIT_NOFILE)[1] == before[1]
