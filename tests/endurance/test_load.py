"""Load at full width and for long: the client holds on to nothing of a run that is over, and to little of one that goes on."""

from __future__ import annotations

import asyncio
import tempfile
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from runbook.load.arguments import Asked
from runbook.load.options import Options
from runbook.load.run import run_validation
from tests.endurance import footprint
from tests.endurance.standin import standing_in

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from runbook.load.results import SessionsResult

pytestmark = pytest.mark.real

SMALL = Options(
    base_url="", model="m", sessions=16, rounds=1, ctx=20, max_tokens=2000, timeout_s=260.0, tag="t", seed=7, rows=6,
    min_concurrency=0.0, max_client_cpu=9.0, early_stop=False,
)  # fmt: skip
WIDE = replace(SMALL, sessions=256, processes=1)
SHIPPED = replace(SMALL, sessions=80, rounds=3, ctx=350, rows=24)
A_SESSION_BYTES = 4096  # its record, the spans of its streams and the lags of the loop meanwhile
A_RUN_BLOCKS = 100


@pytest.fixture(autouse=True)
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def quiet(text: str, /, **fields: Any) -> None:
    """Nobody listens."""


def ran(url: str, options: Options, say: Any = quiet) -> SessionsResult:
    asked = Asked(replace(options, base_url=url), api_key=None, control=None, automatic=None, streams=None)
    return asyncio.run(run_validation(asked, say))


def blocks_after_each(url: str, options: Options, runs: int) -> Iterator[int]:
    """Python's small objects that are alive after each of so many runs."""
    for _ in range(runs):
        assert sum(ran(url, options).counts.values()) == options.sessions
        yield footprint.blocks()


@pytest.mark.parametrize(
    ("options", "runs"),
    [(SMALL, 6), pytest.param(WIDE, 8, marks=pytest.mark.heavy)],
    ids=["16-sessions", "256-sessions"],
)
@pytest.mark.parametrize("cut_after", [None, 300], ids=["clean", "truncated"])
def test_a_run_that_is_over_leaves_its_evidence_alone(
    options: Options, runs: int, cut_after: int | None, temporary: Path
) -> None:
    with standing_in(cut_after=cut_after) as url:
        ran(url, options)
        before = footprint.of()
        blocks = list(blocks_after_each(url, options, runs))
        assert footprint.left_over(before) == ""
    assert footprint.slope(blocks) < A_RUN_BLOCKS, blocks
    kept = footprint.files_below(temporary)
    assert len(kept) == (runs + 1 if cut_after else 0)


@pytest.mark.parametrize(
    ("streams", "processes"),
    [(24, 2), pytest.param(512, 0, marks=pytest.mark.heavy)],
    ids=["24-streams", "512-streams"],
)
def test_streams_shared_among_processes_leave_none_of_them(
    streams: int, processes: int, temporary: Path
) -> None:
    options = replace(SMALL, sessions=streams, processes=processes)
    with standing_in(pause_s=0.02) as url:
        ran(url, options)
        before = footprint.of()
        result = ran(url, options)
        assert footprint.left_over(before) == ""
    assert result.counts == {"maxrounds": streams}
    assert footprint.files_below(temporary) == ()


@pytest.mark.heavy
def test_a_soak_of_two_hours_grows_by_what_it_tells_of_a_session(temporary: Path) -> None:
    """48 waves of 80 sessions are what a real server answers in that time."""
    options, resident = replace(SHIPPED, waves=48), dict[int, int]()

    def say(text: str, /, **fields: Any) -> None:
        resident[fields["wave"]] = footprint.of().rss_bytes

    with standing_in() as url:
        result = ran(url, options, say)
    assert result.counts == {"maxrounds": 48 * options.sessions}
    growth = footprint.slope(list(resident.values())) * len(resident) / 48
    assert growth / options.sessions < A_SESSION_BYTES, resident
    assert footprint.files_below(temporary) == ()
