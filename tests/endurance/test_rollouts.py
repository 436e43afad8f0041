"""A thousand rollouts in a row: nothing of them is left over here or on the host, but for the audit's one record each."""

from __future__ import annotations

import itertools
import json
import os
import tempfile
import tracemalloc
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest

from tests.endurance import footprint
from tests.endurance.desk import EXITS, KEEP, ROUND, Desk
from tests.sshd import script

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.endurance.footprint import Footprint

pytestmark = pytest.mark.real

WARM_UP = 1  # rounds; by then everything was imported and everything kept once is there
A_ROLLOUT_BLOCKS = 5  # Python's small objects: one story, record or event that stays has more
A_ROUND_BYTES = 100_000  # half of what the records of one round take


@dataclass(frozen=True, slots=True)
class Sample:
    """The state of things after one round of rollouts."""

    blocks: int
    process: Footprint
    files: int
    chain_bytes: int
    other_bytes: int


@dataclass(frozen=True, slots=True)
class Year:
    """All that was seen: one sample a round, the first ones still warming up, and what one more round held of memory."""

    desk: Desk
    temporary: Path
    samples: tuple[Sample, ...]
    held_bytes: int


def sample(desk: Desk) -> Sample:
    files = footprint.files_below(desk.root)
    chains = [path for path in files if path.suffix == ".jsonl"]
    return Sample(
        blocks=footprint.blocks(),
        process=footprint.of(),
        files=len(files),
        chain_bytes=footprint.bytes_of(chains),
        other_bytes=footprint.bytes_of([path for path in files if path not in chains]),
    )


def one_round(desk: Desk) -> None:
    """Every kind of rollout."""
    for _ in ROUND:
        desk.next()


def lived(desk: Desk, rounds: int) -> Iterator[Sample]:
    """So many rounds of rollouts, looked at after each."""
    for _ in range(rounds):
        one_round(desk)
        yield sample(desk)


def held_by_one_more(desk: Desk) -> int:
    """Bytes of what a round allocated and did not give back."""
    tracemalloc.start()
    try:
        one_round(desk)
        footprint.blocks()
        return tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()


@pytest.fixture(
    scope="module",
    params=[3, pytest.param(125, marks=pytest.mark.heavy)],
    ids=lambda rounds: f"{rounds * len(ROUND)}-rollouts",
)
def year(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Year]:
    """The rollouts, with temporary files in a directory of their own and a `logger` that says nothing."""
    root = tmp_path_factory.mktemp("year")
    for name in ("bin", "temporary", "desk"):
        (root / name).mkdir()
    script(root / "bin" / "logger", "exit 0\n")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PATH", f"{root / 'bin'}{os.pathsep}{os.environ['PATH']}")
        patch.setattr(tempfile, "tempdir", str(root / "temporary"))
        desk = Desk.begin(root / "desk")
        samples = tuple(lived(desk, request.param))
        yield Year(desk, root / "temporary", samples, held_by_one_more(desk))


def test_each_ends_as_it_should(year: Year) -> None:
    assert tuple(year.desk.exits) == EXITS * (len(year.samples) + 1)


def test_no_memory_is_held_for_a_rollout_that_is_over(year: Year) -> None:
    blocks = [one.blocks for one in year.samples]
    assert footprint.slope(blocks) < A_ROLLOUT_BLOCKS * len(ROUND), blocks
    assert year.held_bytes < A_ROUND_BYTES


def test_no_descriptor_thread_or_child_is_left(year: Year) -> None:
    assert footprint.left_over(year.samples[WARM_UP].process) == ""


def test_no_temporary_file_is_left(year: Year) -> None:
    assert footprint.files_below(year.temporary) == ()


def test_there_are_as_many_files_as_early_on(year: Year) -> None:
    """Releases that are kept, and what stands once: `current`, audit, lock, mirror and its head."""
    early, late = year.samples[WARM_UP], year.samples[-1]
    assert late.files == early.files, footprint.files_below(year.desk.root)
    assert late.other_bytes < 1.1 * early.other_bytes


def test_as_many_releases_are_kept_as_the_host_file_says(year: Year) -> None:
    releases = year.desk.root / "host" / "state" / "sglang" / "releases"
    assert KEEP <= len([*releases.iterdir()]) <= KEEP + 2  # besides these the current one and its parent


def test_the_audit_grows_by_its_records_alone(year: Year) -> None:
    chain = (year.desk.root / "host" / "state" / "sglang" / "audit.jsonl").read_bytes()
    assert [json.loads(line)["seq"] for line in chain.splitlines()] == [*range(1, len(year.desk.exits) + 1)]
    sizes = itertools.pairwise(one.chain_bytes for one in year.samples)
    rounds = [after - before for before, after in sizes]
    assert max(rounds) < 1.1 * min(rounds)
    assert year.desk.mirror.read_bytes() == chain
