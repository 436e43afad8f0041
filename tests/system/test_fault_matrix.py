"""Interrupted anywhere: steps of deploy and rollback × faults, on real systemd (see matrix.py for what must hold)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.system import matrix
from tests.system.faults import FAULTS
from tests.system.matrix import ACTIONS, Bench

if TYPE_CHECKING:
    from tests.system.hosts import TestHost
    from tests.system.matrix import Cell

pytestmark = pytest.mark.system


@pytest.fixture(scope="module")
def benches(boxes: tuple[TestHost, ...], tmp_path_factory: pytest.TempPathFactory) -> list[Bench]:
    """Hosts with an operator each. Slow cells only wait for silence to be noticed, and share the cores with others."""
    return [Bench.at(host, tmp_path_factory.mktemp("operators")) for host in boxes]


@pytest.fixture(scope="module")
def every_cell(benches: list[Bench]) -> list[Cell]:
    """All cells, from the steps that an undisturbed deploy and rollback tell of."""
    return matrix.cells({action: matrix.steps(benches[0], action) for action in ACTIONS}, FAULTS)


def test_a_sample_with_every_step_and_every_fault_holds(benches: list[Bench], every_cell: list[Cell]) -> None:
    chosen = matrix.sample(every_cell, FAULTS)
    assert len(chosen) >= 20
    assert {cell.fault.name for cell in chosen} == {fault.name for fault in FAULTS}
    report(matrix.play_all(chosen, benches))


@pytest.mark.heavy
def test_every_cell_holds(benches: list[Bench], every_cell: list[Cell]) -> None:
    assert len(every_cell) >= 100
    report(matrix.play_all(every_cell, benches))


def report(found: dict[Cell, list[str]]) -> None:
    """Print the table, for `pytest -s`; fail with one paragraph a cell in which something did not hold."""
    print(f"\n{matrix.table(found)}")  # noqa: T201
    broken = {cell: problems for cell, problems in found.items() if problems}
    told = "\n".join(f"{cell}\n    " + "\n    ".join(problems) for cell, problems in broken.items())
    if broken:
        pytest.fail(f"{len(broken)} of {len(found)} cells:\n{told}", pytrace=False)
