from __future__ import annotations

import multiprocessing
import time
from concurrent.futures.process import BrokenProcessPool
from typing import TYPE_CHECKING

import pytest

from runbook.load.bench.processes import processes

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
