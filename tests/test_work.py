from __future__ import annotations

import datetime

from runbook.work import new_id


def test_ids_sort_by_time() -> None:
    first = new_id(datetime.datetime(2026, 1, 2, 3, 4, 5, tzinfo=datetime.UTC))
    second = new_id(datetime.datetime(2026, 1, 2, 3, 4, 6, tzinfo=datetime.UTC))
    assert first.startswith("20260102T030405-")
    assert first < second
