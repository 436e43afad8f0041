"""The control arm, and that a model's ordinary copying errors never fail a run."""

from __future__ import annotations

import json
import random
from dataclasses import asdict, replace
from typing import TYPE_CHECKING

import pytest

from runbook.load.control import needs_control, parse_control, with_control
from runbook.load.defects import Severity
from runbook.load.options import Options
from runbook.load.outcome import Outcome, worst
from runbook.load.summary import result_of
from tests.load.records import GOOD_CONDITIONS, records, slipped

if TYPE_CHECKING:
    from runbook.load.results import SessionsResult

OPTIONS = Options(
    base_url="http://192.0.2.1:30001",
    model="m",
    sessions=80,
    rounds=3,
    ctx=350,
    max_tokens=2000,
    timeout_s=260.0,
    tag="final80",
    seed=1,
)


def result(slips: int = 0, *, soft: int = 0, **ends: int) -> SessionsResult:
    run = records(**(ends or {"maxrounds": 80}))
    run = [slipped(one) if at < slips else one for at, one in enumerate(run)]
    run = [slipped(one, "loop", Severity.SOFT) if at < soft else one for at, one in enumerate(run)]
    return result_of(OPTIONS, run, GOOD_CONDITIONS, None)


def outcome(run: SessionsResult, control: SessionsResult) -> Outcome:
    return worst(finding.outcome for finding in with_control(run, control))


def test_a_control_arm_is_needed_for_slips_and_soft_defects_and_nothing_harder() -> None:
    assert [needs_control(result(slips)) for slips in (0, 1, 2, 20)] == [False, False, True, True]
    assert [needs_control(result(soft=soft)) for soft in (0, 1, 2, 20)] == [False, False, True, True]
    assert not needs_control(result(5, maxrounds=79, leak=1))


@pytest.mark.parametrize(
    ("slips", "soft", "passes"), [(1, 1, True), (2, 0, False), (0, 2, False), (0, 80, False)]
)
def test_without_an_arm_more_than_one_of_them_is_no_pass(slips: int, soft: int, passes: bool) -> None:
    assert result(slips, soft=soft).outcome is (Outcome.PASS if passes else Outcome.INCONCLUSIVE)


@pytest.mark.parametrize(("same_server", "wanted"), [(True, Outcome.FAIL), (False, Outcome.INCONCLUSIVE)])
def test_a_corrupt_control_arm_is_no_pass(same_server: bool, wanted: Outcome) -> None:
    found = with_control(result(soft=2), result(soft=2, maxrounds=75, foreign=5), same_server=same_server)
    assert worst(finding.outcome for finding in found) is wanted


def test_slips_that_only_the_loaded_arm_has_are_a_fail() -> None:
    assert outcome(result(12), result(0)) is Outcome.FAIL
    assert outcome(result(12), result(11)) is Outcome.INCONCLUSIVE
    assert outcome(result(2), result(0)) is Outcome.INCONCLUSIVE
    assert outcome(result(1), result(0)) is Outcome.PASS


def test_soft_defects_are_compared_too() -> None:
    assert outcome(result(soft=30), result(soft=0)) is Outcome.FAIL
    assert outcome(result(soft=80), result(soft=80)) is Outcome.PASS


def test_an_unanswered_control_arm_concludes_nothing() -> None:
    assert outcome(result(2), result(timeout=80)) is Outcome.INCONCLUSIVE


def test_the_finding_carries_all_four_numbers() -> None:
    copying = next(f for f in with_control(result(12), result(1)) if f.check == "copying")
    assert copying.message.startswith("12 of 80 sessions with slips or miscopies, 1 of 80 in the control arm")


@pytest.mark.parametrize(
    "text",
    [
        "concurrency=0",
        "concurrency=x",
        "url=ftp://x",
        "url=http://",
        "url=http://a b",
        "url=http://me:x@192.0.2.1",
        "four",
        "",
    ],
)
def test_other_arms_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match="should be concurrency=N or url="):
        parse_control(text)


def test_the_arm_runs_the_same_validation_with_new_nonces() -> None:
    few = parse_control("concurrency=4").applied(OPTIONS)
    other = parse_control("url=http://192.0.2.2").applied(OPTIONS)
    assert (few.at_once, few.sessions, few.early_stop, few.tag) == (4, 80, False, "final80-control")
    assert (other.at_once, other.base_url) == (80, "http://192.0.2.2")
    assert few.seed != OPTIONS.seed


def test_ordinary_copying_errors_fail_no_run() -> None:
    """1e-4 a row, 80 sessions of 3 rounds of 24 rows: 300 runs, each with its control arm where one is asked for."""
    rng = random.Random(5)
    of_a_session = 1.0 - (1.0 - 1e-4) ** (3 * 24)

    def run() -> SessionsResult:
        return result(sum(rng.random() < of_a_session for _ in range(80)))

    runs = [run() for _ in range(300)]
    asked = [one for one in runs if needs_control(one)]
    assert 5 < len(asked) < 80
    assert all(one.outcome is Outcome.PASS for one in runs if not needs_control(one))
    assert not [one for one in asked if outcome(one, run()) is Outcome.FAIL]


def test_slips_under_load_are_found_by_their_rate() -> None:
    """A token of another live value lands as a slip: at 10 % of sessions the arms differ in nearly every run."""
    rng = random.Random(6)
    failed = sum(
        outcome(result(sum(rng.random() < 0.15 for _ in range(80))), result(0)) is Outcome.FAIL
        for _ in range(60)
    )
    assert failed > 50


def test_a_result_document_holds_all_of_its_result() -> None:
    one = replace(result(3, maxrounds=78, leak=2), streams="/tmp/x")
    document = json.loads(json.dumps(one.to_json()))
    plain = json.loads(json.dumps({**asdict(one), "findings": [each.to_json() for each in one.findings]}))
    assert document == {**plain, "schema": 1, "kind": "sessions"}


def test_the_two_lines_of_the_original() -> None:
    assert result().lines == ('wall=10.0s counts={"maxrounds": 80}', "CORRUPTION sessions: 0/80 = 0%")
    assert result(maxrounds=68, leak=12).lines[1] == "CORRUPTION sessions: 12/80 = 15%"
    assert result(maxrounds=79, leak=1).lines[1] == "CORRUPTION sessions: 1/80 = 1.25%"
    assert (
        result(leak=2, maxrounds=21, cancelled=57).lines[1]
        == "CORRUPTION sessions: 2 of 23 finished, 80 asked for"
    )


def test_the_bound_of_no_corruption_in_eighty() -> None:
    assert result().upper_95 == pytest.approx(0.0368, abs=1e-4)
    assert result(timeout=80).upper_95 == 1.0
