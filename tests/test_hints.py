from __future__ import annotations

from typing import Any

import pytest

from runbook import hints
from tests.showing_events import document

PLAN = "what a deploy would change: ./invoke plan --host gpu1"
CHECK = "the host file is to be mended; it alone is checked by: ./invoke hosts.check --host gpu1"
DRIFT, EXPIRED, UNIT = (
    {"check": check, "outcome": "fail", "message": "x"} for check in ("drift", "ledger.expired", "unit")
)
EMPTY: dict[str, Any] = {"changes": [], "restarts": []}
CHANGES: dict[str, Any] = {"changes": [{}], "restarts": []}


def of(action: str, **fields: Any) -> list[str]:
    return list(hints.of(document(action=action, **fields)))


@pytest.mark.parametrize("action", ["verify", "status"])
@pytest.mark.parametrize("plan", [None, CHANGES, {"changes": [], "restarts": [{}]}])
def test_drift_is_what_a_deploy_would_end(action: str, plan: Any) -> None:
    assert of(action, plan=plan, findings=[DRIFT]) == [PLAN]


def test_where_the_plan_is_empty_no_deploy_is_the_answer() -> None:
    assert of("verify", plan=EMPTY, findings=[DRIFT]) == []


def test_what_the_ledger_fails_is_mended_in_the_host_file() -> None:
    assert of("verify", plan=EMPTY, findings=[EXPIRED]) == [CHECK]
    assert of("verify", plan=CHANGES, findings=[DRIFT, EXPIRED]) == [PLAN, CHECK]


def test_a_unit_that_is_down_has_a_journal() -> None:
    units = [{"role": "prefill", "down": False}, {"role": "decode", "down": True}]
    assert of("status", plan=None, findings=[UNIT], status={"units": units}) == [
        "what its journal says: ./invoke logs --host gpu1 --unit decode"
    ]


UNREAD = {
    "check": "drift", "outcome": "inconclusive", "message": "x", "evidence": {"unit": "d.service", "kind": "unknown"},
}  # fmt: skip


def test_what_nobody_can_read_is_recorded_by_a_restart_of_ours() -> None:
    assert of("verify", plan=EMPTY, findings=[UNREAD, UNREAD]) == [
        "what it runs with is recorded where runbook restarts it: ./invoke restart --host gpu1 --unit d.service"
    ]


def test_nobody_restarts_for_that_while_something_fails() -> None:
    assert of("verify", plan=EMPTY, findings=[UNREAD, UNIT]) == []


@pytest.mark.parametrize("action", ["deploy", "rollback", "restart", "hosts.check"])
def test_what_acts_says_itself_how_to_go_on(action: str) -> None:
    assert of(action, plan=CHANGES, findings=[DRIFT, EXPIRED]) == []
