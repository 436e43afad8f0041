"""What is reported of a host file as a whole."""

from __future__ import annotations

import datetime

import pytest

from runbook.model import Bench, Sessions
from runbook.verdict import Outcome
from runbook.verify import bookkeeping
from tests.building import host

TODAY = datetime.date(2026, 11, 30)
SESSIONS = Sessions("final80", 80, 3, 350, 2000, 260.0)
BENCH = Bench((1,), 350, 256, 5, 0.10)


def test_a_host_file_by_which_nothing_can_be_proven_is_remarked_on_and_is_no_failure() -> None:
    (found,) = [one for one in bookkeeping.book(host(), None, TODAY) if one.check == "ledger.unmeasured"]
    assert found.outcome is Outcome.PASS
    assert found.message.startswith("warning: hosts/gpu1.yml declares no validation and no bench;")


@pytest.mark.parametrize("measure", [{"validations": (SESSIONS,)}, {"bench": BENCH}])
def test_a_host_file_that_declares_one_measure_is_not(measure: dict[str, object]) -> None:
    checks = [one.check for one in bookkeeping.book(host(**measure), None, TODAY)]
    assert "ledger.unmeasured" not in checks
