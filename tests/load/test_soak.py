"""Soaks longer than the registry remembers: what of an early wave turns up late is found, and judged again as it was."""

from __future__ import annotations

import json
import random
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from runbook.load import nonces
from runbook.load.player import right_call
from runbook.load.replay import replay
from tests.faultserver.damage import DAMAGES, Scene
from tests.faultserver.server import Behaviour, Request
from tests.load.test_run import OPTIONS, run

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.real

SOAK = replace(OPTIONS, waves=6, early_stop=False)
LAST_WAVE = 5 * SOAK.sessions * 3  # requests before it, three a session


@pytest.fixture(autouse=True)
def _remembers_one_wave(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nonces, "REMEMBERED", 1)


def test_a_value_of_the_first_wave_is_foreign_in_the_last(tmp_path: Path) -> None:
    stolen: list[str] = []

    def choose(request: Request) -> Behaviour:
        assert request.plan is not None
        if not stolen:
            stolen.extend(nonces.NONCE.findall(json.dumps(request.body["messages"]))[:1])
        if request.number <= LAST_WAVE:
            return Behaviour()
        return Behaviour(stream=Scene(request.plan, {}, [], random.Random(1)).saying(f"as in {stolen[0]}"))

    path = tmp_path / "streams.gz"
    result = run(choose, SOAK, path)
    assert result.corrupt == SOAK.sessions
    assert result.counts["foreign"] == SOAK.sessions
    assert "an earlier wave" in str(result.findings)
    assert Counter(record.end for record in replay(path)[1]) == {"foreign": SOAK.sessions}


def test_a_slip_of_the_last_wave_is_judged_against_the_values_of_its_own_session_again(
    tmp_path: Path,
) -> None:
    def choose(request: Request) -> Behaviour:
        call = right_call(request.body["messages"])
        assert request.plan is not None
        assert call is not None
        if request.number <= LAST_WAVE or call[0] != "store_record":
            return Behaviour()
        return Behaviour(
            stream=DAMAGES["slip"](
                Scene(request.plan, dict(call[1]), ["abcd-efgh-kmnp"], random.Random(request.number))
            )
        )

    path = tmp_path / "streams.gz"
    result = run(choose, SOAK, path)
    assert (result.slips, result.corrupt) == (SOAK.sessions, 0)
    records = replay(path)[1]
    assert {seen.defect.kind for record in records for seen in record.seen} == {"slip"}
    assert [record.wave for record in records] == [5] * SOAK.sessions
