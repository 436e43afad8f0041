from __future__ import annotations

import multiprocessing
import time
from concurrent.futures.process import BrokenProcessPool
from typing import TYPE_CHECKING

import pytest

from runbook.load.bench.processes import processes
from runbook.load.ending import ClientDiedError

if TYPE_CHECKING:
    from concurrent.futures import Future

pytestmark = pytest.mark.real


def test_one_process_is_this_very_one() -> None:
    with processes(1) as pool:
        assert pool is None


def test_ctrl_c_stops_the_others_in_the_middle_of_their_load() -> None:
    running: list[Future[None]] = []

    def interrupted() -> None:
        with processes(2) as pool:
            assert pool is not None
            running.extend(pool.submit(time.sleep, 600) for _ in range(2))
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert [type(one.exception()) for one in running] == [BrokenProcessPool] * 2
    assert multiprocessing.active_children() == []


def test_a_process_that_dies_is_no_defect_of_the_others_and_leaves_nobody_behind() -> None:
    def killed() -> None:
        with processes(2) as pool:
            assert pool is not None
            load = pool.submit(time.sleep, 600)
            multiprocessing.active_children()[0].kill()
            load.result()

    with pytest.raises(ClientDiedError):
        killed()
    assert multiprocessing.active_children() == []
