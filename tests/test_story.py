from __future__ import annotations

import datetime

import pytest

from runbook.errors import GateError, LockedError, RollbackFailedError
from runbook.story import Story
from runbook.verdict import Finding, Outcome

PASS, FAIL, ERROR, INCONCLUSIVE = Outcome.PASS, Outcome.FAIL, Outcome.ERROR, Outcome.INCONCLUSIVE


def story(*findings: tuple[str, Outcome], error: BaseException | None = None) -> Story:
    return Story(
        "verify", "gpu1", "r1", [], [Finding(check, outcome, "m") for check, outcome in findings], error=error
    )


@pytest.mark.parametrize(
    ("told", "outcome", "code"),
    [
        (story(), PASS, 0),
        (story(("health", PASS)), PASS, 0),
        (story(("drift", FAIL)), FAIL, 5),
        (story(("drift", FAIL), ("validation:final80", FAIL)), FAIL, 1),
        (story(("drift", FAIL), ("bench", INCONCLUSIVE)), FAIL, 5),
        (story(("health", PASS), ("bench", INCONCLUSIVE)), INCONCLUSIVE, 3),
        (story(("bench", ERROR)), ERROR, 3),
        (story(("health", FAIL), error=GateError("down")), FAIL, 1),
        (story(error=LockedError("locked")), ERROR, 6),
        (story(("validation:final80", FAIL), error=RollbackFailedError("no")), FAIL, 4),
        (story(error=KeyboardInterrupt()), ERROR, 130),
        (story(error=ZeroDivisionError("x")), ERROR, 70),
    ],
)
def test_the_exit_code_follows_the_worst_of_what_happened(told: Story, outcome: Outcome, code: int) -> None:
    assert (told.outcome, told.exit_code) == (outcome, code)


def test_the_document_has_every_key_of_its_contract() -> None:
    document = story(("health", PASS)).document()
    assert set(document) >= {
        "schema", "action", "host", "rollout", "outcome", "exit_code", "plan", "release", "steps", "findings",
        "validations", "bench", "audit", "error",
    }  # fmt: skip


def test_the_record_carries_who_when_and_what_went_wrong() -> None:
    now = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)
    record = story(error=LockedError("held by ann")).record(started=now, ended=now, operator={"user": "bob"})
    assert record["id"] == "r1"
    assert record["operator"] == {"user": "bob"}
    assert record["error"] == "held by ann"
    assert record["started"] == "2026-01-01T00:00:00.000+00:00"
    assert "audit" not in record
