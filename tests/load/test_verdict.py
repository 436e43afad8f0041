"""What is concluded from the records of a run."""

from __future__ import annotations

from dataclasses import replace

import pytest

from runbook.load.defects import Severity
from runbook.load.outcome import Finding, Outcome, worst
from runbook.load.verdict import Conditions, by_round, by_wave, counts, findings
from tests.load.records import GOOD_CONDITIONS, record, records, slipped

VERDICTS = {
    "all rounds of all sessions": ({"maxrounds": 80}, Outcome.PASS),
    "one corrupt session": ({"maxrounds": 79, "foreign": 1}, Outcome.FAIL),
    "nothing but time-outs": ({"timeout": 80}, Outcome.INCONCLUSIVE),
    "one time-out": ({"maxrounds": 79, "timeout": 1}, Outcome.INCONCLUSIVE),
    "one error and one corrupt session": ({"maxrounds": 78, "error": 1, "leak": 1}, Outcome.FAIL),
    "four that declined": ({"maxrounds": 76, "budget": 2, "notool": 2}, Outcome.PASS),
    "five that declined": ({"maxrounds": 75, "budget": 3, "notool": 2}, Outcome.INCONCLUSIVE),
    "nobody called a tool": ({"notool": 80}, Outcome.INCONCLUSIVE),
    "early ends that are valid": ({"maxrounds": 40, "done": 40}, Outcome.PASS),
    "nothing at all": ({}, Outcome.INCONCLUSIVE),
    "stopped early by corruption": ({"leak": 2, "maxrounds": 21, "cancelled": 57}, Outcome.FAIL),
}


def checks(found: tuple[Finding, ...]) -> dict[str, Outcome]:
    return {finding.check: finding.outcome for finding in found}


@pytest.mark.parametrize("name", sorted(VERDICTS))
def test_ends_decide_the_outcome(name: str) -> None:
    ends, wanted = VERDICTS[name]
    found = findings(records(**ends), GOOD_CONDITIONS)
    assert worst(finding.outcome for finding in found) is wanted


@pytest.mark.parametrize(
    ("early", "wanted"), [(4, Outcome.PASS), (5, Outcome.INCONCLUSIVE), (80, Outcome.INCONCLUSIVE)]
)
def test_models_that_finish_before_anything_was_copied_prove_nothing(early: int, wanted: Outcome) -> None:
    run = records(done=early, maxrounds=80 - early)
    run = [replace(one, turns=2) if one.end == "done" else one for one in run]
    found = findings(run, replace(GOOD_CONDITIONS, turns=7))
    assert worst(finding.outcome for finding in found) is wanted


def test_time_outs_are_no_proof_and_have_no_bound() -> None:
    found = findings(records(timeout=80), GOOD_CONDITIONS)
    assert checks(found)["corruption"] is Outcome.INCONCLUSIVE
    assert "at most 100.00%" in found[0].message


def test_the_bound_counts_only_answered_sessions() -> None:
    found = findings(records(maxrounds=60, timeout=20), GOOD_CONDITIONS)
    assert "0 of 60 judged sessions corrupt: the true rate is at most 4.87%" in found[0].message


@pytest.mark.parametrize(
    ("ends", "stopped", "told"),
    [
        (
            {"leak": 2, "maxrounds": 78},
            False,
            "2 of 80 judged sessions corrupt (leak 2); at most 7.66% at 95 %",
        ),
        ({"leak": 80}, False, "80 of 80 judged sessions corrupt (leak 80)"),
        ({"leak": 2, "cancelled": 78}, True, "2 of 2 judged sessions corrupt (leak 2)"),
        ({"leak": 2, "maxrounds": 3, "cancelled": 75}, True, "2 of 5 judged sessions corrupt (leak 2)"),
    ],
)
def test_corruption_has_a_bound_where_it_bounds_something(
    ends: dict[str, int], stopped: bool, told: str
) -> None:
    found = findings(records(**ends), replace(GOOD_CONDITIONS, stopped=stopped))
    assert found[0].message == told


def test_what_is_only_open_since_corruption_ended_the_run_is_not_told_below_it() -> None:
    run, strained = records(leak=2, cancelled=78), replace(GOOD_CONDITIONS, client_cpu=0.95)
    stopped = checks(findings(run, replace(strained, stopped=True)))
    assert stopped["corruption"] is Outcome.FAIL
    assert Outcome.INCONCLUSIVE not in stopped.values()
    whole = checks(findings(run, strained))
    assert (whole["ends"], whole["client"]) == (Outcome.INCONCLUSIVE, Outcome.INCONCLUSIVE)


def test_sessions_without_an_answer_are_told_below_an_early_stop() -> None:
    run, stopped = records(leak=2, timeout=5, cancelled=73), replace(GOOD_CONDITIONS, stopped=True)
    assert checks(findings(run, stopped))["infra"] is Outcome.INCONCLUSIVE


CONDITIONS = {
    "as asked": ({}, Outcome.PASS),
    "half the streams": ({"peak": 40}, Outcome.PASS),
    "a server that runs 32 of 80": ({"peak": 32}, Outcome.INCONCLUSIVE),
    "a server that ran more than was seen to stream": ({"peak": 32, "peak_running": 78.0}, Outcome.PASS),
    "a client at its limit": ({"client_cpu": 0.81}, Outcome.INCONCLUSIVE),
    "a dead server": ({"died": "no chat after the run"}, Outcome.FAIL),
}


@pytest.mark.parametrize("name", sorted(CONDITIONS))
def test_conditions_decide_the_outcome(name: str) -> None:
    change, wanted = CONDITIONS[name]
    conditions: Conditions = replace(GOOD_CONDITIONS, **change)  # type: ignore[arg-type]
    assert worst(finding.outcome for finding in findings(records(maxrounds=80), conditions)) is wanted


def test_infra_failures_can_be_allowed() -> None:
    run = records(maxrounds=79, timeout=1)
    assert checks(findings(run, replace(GOOD_CONDITIONS, max_infra=1)))["infra"] is Outcome.PASS


def test_errors_are_told_by_their_status() -> None:
    run = [record(1, "error", status=429), record(2, "error", status=500), record(3, "refused", status=0)]
    infra = next(finding for finding in findings(run, GOOD_CONDITIONS) if finding.check == "infra")
    assert infra.message.endswith("error (HTTP 429) 1, error (HTTP 500) 1, refused 1")


@pytest.mark.parametrize(
    ("slips", "wanted"), [(0, Outcome.PASS), (1, Outcome.PASS), (2, Outcome.INCONCLUSIVE)]
)
def test_more_than_one_slip_needs_a_control_arm(slips: int, wanted: Outcome) -> None:
    run = [slipped(one) if at < slips else one for at, one in enumerate(records(maxrounds=80))]
    assert checks(findings(run, GOOD_CONDITIONS))["copying"] is wanted


def test_a_soft_defect_alone_is_reported_and_passes() -> None:
    run = [slipped(one, "loop", Severity.SOFT) if one.session == 3 else one for one in records(maxrounds=80)]
    found = findings(run, GOOD_CONDITIONS)
    assert worst(finding.outcome for finding in found) is Outcome.PASS
    assert "1 with soft defects" in next(one.message for one in found if one.check == "copying")


def test_the_evidence_names_session_round_and_byte() -> None:
    corruption = findings(records(maxrounds=2, foreign=1), GOOD_CONDITIONS)[0]
    (session,) = corruption.evidence["sessions"]
    assert (session["session"], session["end"]) == (2, "foreign")
    assert {key: session["defects"][0][key] for key in ("kind", "turn", "round", "offset")} == {
        "kind": "foreign",
        "turn": 2,
        "round": 1,
        "offset": 17,
    }


def test_counts_sum_to_the_sessions_and_waves_to_the_run() -> None:
    run = [record(n, "maxrounds", wave=n // 4) for n in range(10)] + [record(10, "leak", wave=2)]
    assert counts(run) == {"maxrounds": 10, "leak": 1}
    assert [(wave["wave"], wave["sessions"], wave["corrupt"]) for wave in by_wave(run)] == [
        (1, 4, 0),
        (2, 4, 0),
        (3, 3, 1),
    ]
    assert by_round(run) == {"1": 1}


def test_a_rate_that_rises_from_wave_to_wave_is_told() -> None:
    run = [record(n, "leak" if n >= 154 else "maxrounds", wave=n // 40) for n in range(160)]
    trend = next(finding for finding in findings(run, GOOD_CONDITIONS) if finding.check == "trend")
    assert trend.outcome is Outcome.FAIL
    assert "[0, 0, 0, 6]" in trend.message


@pytest.mark.parametrize(
    ("served_s", "min_concurrency", "outcome"),
    [
        (7.9, 0.5, Outcome.PASS),
        (4.1, 0.5, Outcome.PASS),
        (3.9, 0.5, Outcome.INCONCLUSIVE),
        (3.9, 0.0, Outcome.PASS),
        (6.0, 0.9, Outcome.INCONCLUSIVE),
    ],
)
def test_sessions_that_wait_for_the_client_are_no_load(
    served_s: float, min_concurrency: float, outcome: Outcome
) -> None:
    waiting = [replace(one, served_s=served_s) for one in records(maxrounds=80)]
    found = findings(waiting, replace(GOOD_CONDITIONS, min_concurrency=min_concurrency))
    client = next(finding for finding in found if finding.check == "client")
    assert client.outcome is outcome
    assert f"{1 - served_s / 8.0:.0%} of their time" in client.message
