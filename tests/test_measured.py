from __future__ import annotations

from typing import Any

import pytest

from runbook.measured import corrupt_of


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"corrupt": 0, "sessions": 80, "finished": 80, "judged": 80}, "0/80"),
        ({"corrupt": 2, "sessions": 80, "finished": 2, "judged": 2}, "2/2 of 80"),
        ({"corrupt": 0, "sessions": 80, "finished": 80, "judged": 78}, "0/78 of 80"),
        ({"corrupt": 2, "sessions": 80, "finished": 3}, "2/3 of 80"),
        ({"corrupt": 1, "sessions": 60}, "1/60"),
    ],
)
def test_a_share_of_corrupt_sessions_is_of_those_that_were_judged(fields: dict[str, Any], said: str) -> None:
    assert corrupt_of(fields) == said
