from __future__ import annotations

import pytest

from runbook import ending
from tests.showing_events import HOSTILE, POWERS, document

ROW = {
    "concurrency": 8, "baseline_tok_s": 1950.8, "current_tok_s": 1942.7, "ratio": 1.011, "low": 0.925,
    "high": 1.105, "verdict": "no regression",
}  # fmt: skip
RUN = {"name": "final80", "outcome": "pass", "corrupt": 0, "sessions": 80, "upper_95": 0.03675}


def test_a_deploy_that_stands_says_bounds_speed_release_audit_and_the_way_back() -> None:
    lines = ending.lines(document(validations=[RUN], bench={"comparison": {"rows": [ROW]}}))
    assert lines == [
        "deploy gpu1: PASS (exit 0)",
        "  final80: 0 of 80 corrupt, true rate below 3.67% (95 % bound)",
        "  bench concurrency 8: 1942.7 tok/s, was 1950.8, ratio 1.011 [0.925, 1.105] no regression beyond 7.5%",
        "  release r2",
        "  audit   20261130T074129-1268 #3",
        "  to go back:",
        "    ./invoke rollback --host gpu1 --to r1",
    ]


def test_a_deploy_that_measured_nothing_says_so_beside_its_release() -> None:
    lines = ending.lines(
        document(
            unvalidated="neither validated nor benched: hosts/gpu1.yml declares no validation and no bench"
        )
    )
    at = lines.index("  release r2")
    assert (
        lines[at + 1] == "  neither validated nor benched: hosts/gpu1.yml declares no validation and no bench"
    )


def test_what_set_leaves_behind_is_said_while_it_stands() -> None:
    left = "  left behind: A = 1, B absent, which no host file says; the next deploy reverts it"
    overrides = {"A": "1", "B": None}
    assert left in ending.lines(document(overrides=overrides))
    assert left in ending.lines(document(overrides=overrides, plan={"changes": []}))
    assert left not in ending.lines(document(overrides=overrides, rolled_back_to="r1"))
    assert left not in ending.lines(document(overrides=overrides, release=None))


def test_what_set_leaves_behind_of_a_flag_that_no_file_names_is_not_called_reverted() -> None:
    made = document(
        overrides={"A": "1", "B": "2", "C": None}, undeclared=["B", "C"], left_behind={"B": "2", "D": "4"}
    )
    said = [line for line in ending.lines(made) if "left behind" in line]
    assert said == [
        "  left behind: A = 1, which no host file says; the next deploy reverts it",
        "  left behind: B = 2, D = 4, which no host file names: they stay until one does, or until `deploy --unset B --unset D`",
    ]


@pytest.mark.parametrize("action", ["deploy", "rollback", "verify"])
def test_what_set_left_is_told_by_every_run_that_ends_with_it(action: str) -> None:
    rolled_back = {"rolled_back_to": "r1"} if action == "rollback" else {}
    left = (
        "  left behind: B = 2, which no host file names: it stays until one does, or until `deploy --unset B`"
    )
    assert left in ending.lines(document(action=action, left_behind={"B": "2"}, **rolled_back))


def test_an_unset_variable_that_no_file_names_is_nobodys_business_any_more() -> None:
    made = document(overrides={"C": None}, undeclared=["C"], left_behind={})
    assert not any("left behind" in line for line in ending.lines(made))


def test_the_way_back_goes_past_what_never_ran_and_says_where_it_leads_nowhere_good() -> None:
    past = ending.lines(document(way_back={"to": "r0", "past": "failed its own verdict", "amiss": ""}))
    assert past[-2:] == [
        "  to go back, past r1, which failed its own verdict:",
        "    ./invoke rollback --host gpu1 --to r0",
    ]
    amiss = ending.lines(document(way_back={"to": "r1", "amiss": "failed its own verdict"}))
    assert amiss[-2] == (
        "  to go back (WARNING: to a release that failed its own verdict; none before it is better):"
    )


def test_a_verify_says_at_its_end_that_it_warned_and_of_what() -> None:
    def warning(check: str) -> dict[str, object]:
        return {"check": check, "outcome": "pass", "message": "warning: x", "evidence": {"severity": "warn"}}

    plain = {"check": "ledger.pair", "outcome": "pass", "message": "x", "evidence": {}}
    found = [warning("ledger.undeclared"), warning("ledger.undeclared"), warning("ledger.left_behind"), plain]
    lines = ending.lines(document(action="verify", findings=found))
    assert lines[1] == "  2 warnings above: ledger.undeclared"
    assert not any("above" in line for line in ending.lines(document(findings=found)))


def test_what_was_saved_is_named_unless_it_is_the_release_itself() -> None:
    assert "  what was there before is kept as release r0" in ending.lines(document(kept_as="r0"))
    assert not any("is kept" in line for line in ending.lines(document(kept_as="r2")))


def test_a_way_back_that_did_not_end_is_not_called_gone() -> None:
    lines = ending.lines(document(outcome="fail", exit_code=130, going_back_to="r1", overrides={"A": "1"}))
    assert lines[0] == "deploy gpu1: FAIL (exit 130), going back to r1 did not finish"
    assert not any("left behind" in line or "./invoke" in line for line in lines)


def test_a_deploy_that_was_rolled_back_offers_no_way_back() -> None:
    lines = ending.lines(document(outcome="fail", exit_code=1, rolled_back_to="r1"))
    assert lines[0] == "deploy gpu1: FAIL (exit 1), rolled back to r1"
    assert not any("./invoke" in line for line in lines)


@pytest.mark.parametrize("fields", [{"plan": {"changes": []}}, {"action": "verify"}, {"release": None}])
def test_where_nothing_changed_there_is_no_way_back(fields: dict[str, object]) -> None:
    assert not any("./invoke" in line for line in ending.lines(document(**fields)))


def test_a_host_name_cannot_leave_the_command_it_stands_in() -> None:
    assert ending.way_back(document(host="a; rm -rf /")) == "./invoke rollback --host 'a; rm -rf /' --to r1"


def test_no_text_of_a_host_has_powers_at_the_end() -> None:
    finding = {"check": "unit", "outcome": "fail", "message": HOSTILE}
    texts = ending.lines(document(error=HOSTILE, findings=[finding], overrides={"A": HOSTILE}, host=HOSTILE))
    assert POWERS.search("\n".join(texts[:-1])) is None


def test_a_run_that_was_not_clean_says_where_its_streams_are() -> None:
    run = RUN | {"outcome": "fail", "corrupt": 2, "streams": "/tmp/kept.streams.jsonl.gz"}
    said = "  final80: the streams that were not clean: /tmp/kept.streams.jsonl.gz"
    for here in ("lab", "http://192.0.2.1:8000"):
        assert f"{said} (validate --replay)" in ending.lines(document(validations=[run], host=here))
    there = ending.lines(document(validations=[run], host="gpu1"))
    assert f"{said} on gpu1 (copy it for validate --replay)" in there


def test_an_error_that_stands_among_the_findings_is_told_once() -> None:
    finding = {"check": "unit", "outcome": "fail", "message": "decode: unit crashed"}
    lines = ending.lines(document(error="decode: unit crashed", findings=[finding]))
    assert [line for line in lines if "crashed" in line] == ["  decode: unit crashed"]


def test_the_cause_comes_before_what_could_not_be_asked_for_it() -> None:
    outcomes = ("pass", "inconclusive", "error", "fail")
    findings = [{"check": one, "outcome": one, "message": "x"} for one in outcomes]
    lines = ending.lines(document(action="verify", outcome="fail", findings=findings))
    assert lines[1:4] == ["  fail: fail: x", "  error: error: x", "  inconclusive: inconclusive: x"]
