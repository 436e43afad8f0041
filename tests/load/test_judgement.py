"""What a judged turn means for its session."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from runbook.load.defects import Defect, Severity
from runbook.load.exchange import Answer, turns
from runbook.load.judgement import GOOD_ENDS, INFRA_ENDS, corruption, judge_turn
from runbook.load.session import history
from tests.faultserver.inprocess import MAX_TOKENS, right, table
from tests.faultserver.reply import Plan, encoded, events_of, pieces, plan_of

if TYPE_CHECKING:
    from runbook.load.exchange import Turn
    from runbook.load.judgement import Judgement

CARDS = table(3, sessions=2, rounds=2, rows=6)
SCRIPT = CARDS.scripts[0]
FETCH, STORE, *_, FINISH = turns(SCRIPT)


def plan(turn: Turn) -> Plan:
    return plan_of(turn.name, dict(turn.arguments), CARDS.rng)


def judged(turn: Turn, stream: bytes, **answer: object) -> Judgement:
    given = Answer(stream, **answer)  # type: ignore[arg-type]
    return judge_turn(SCRIPT, turn, given, CARDS.registry, max_tokens=MAX_TOKENS)


def silent(text: str, finish: str = "stop") -> bytes:
    return encoded(events_of(Plan(None, (), content=pieces(text), finish=finish)))


def test_right_turns_go_on_and_the_last_one_ends_the_session() -> None:
    ends = [judged(turn, right(SCRIPT, turn, plan(turn))).end for turn in turns(SCRIPT)]
    assert ends == [None, None, None, None, "maxrounds"]


def test_a_model_that_declines_is_not_corrupt() -> None:
    declined = judged(STORE, silent("I would rather not do that."))
    assert (declined.end, declined.corrupt) == ("notool", False)


def test_a_call_written_as_text_is_corrupt_only_beside_other_garbling() -> None:
    """A server without a tool parser, and weak models (SmolLM2 does), say calls as text or repeat the request."""
    as_text = judged(STORE, silent(f"store_record {plan(STORE).text}"))
    assert (as_text.end, [defect.kind for defect in as_text.defects]) == ("notool", ["badtool"])
    assert judged(STORE, silent(f"prиvet {plan(STORE).text}")).corrupt
    echo = judged(
        FETCH, silent(f"The key is {SCRIPT.records[0].key}. First call fetch_record with this key.")
    )
    assert (echo.end, echo.defects) == ("notool", ())


def test_running_out_of_tokens_is_budget() -> None:
    events = events_of(Plan(None, (), reasoning=("hm",), finish="length"))
    usage = {"prompt_tokens": 1, "completion_tokens": MAX_TOKENS, "total_tokens": MAX_TOKENS + 1}
    answer = judged(STORE, encoded([*events[:-1], {**events[-1], "usage": usage}]))
    assert (answer.end, answer.corrupt, answer.defects) == ("budget", False, ())


def test_the_right_code_as_text_is_done() -> None:
    assert judged(FINISH, silent(f"The code is {SCRIPT.code}.")).end == "done"
    assert judged(FINISH, silent("Finished!")).end == "notool"


def test_finishing_early_with_own_values_is_done() -> None:
    early = plan_of(
        "finish", {"code": f"{SCRIPT.records[0].rows[0]}-{SCRIPT.records[0].rows[-1]}"}, CARDS.rng
    )
    assert judged(STORE, encoded(events_of(early))).end == "done"
    wrong = plan_of("finish", {"code": "nothing"}, CARDS.rng)
    assert judged(STORE, encoded(events_of(wrong))).end == "badtool"


@pytest.mark.parametrize("end", ["error", "timeout", "refused", "abort"])
def test_a_failed_request_ends_the_session_under_its_name(end: str) -> None:
    answer = judged(STORE, b"", end=end, detail="why")
    assert (answer.end, answer.corrupt, answer.detail) == (end, False, "why")


def test_a_flood_until_the_deadline_is_corrupt_all_the_same() -> None:
    stream = encoded(events_of(Plan(None, (), content=("!",) * 300)), done=False)
    assert judged(STORE, stream, end="timeout").end == "flood"
    half = right(SCRIPT, STORE, plan(STORE))[:500]
    assert judged(STORE, half, end="timeout").end == "timeout"


def test_a_body_cut_off_is_truncated() -> None:
    assert judged(STORE, right(SCRIPT, STORE, plan(STORE))[:500], end="cut").end == "truncated"
    assert judged(STORE, right(SCRIPT, STORE, plan(STORE)), end="cut").end == "truncated"


def defect(kind: str, severity: Severity) -> Defect:
    return Defect(kind, severity, "")


def test_one_hard_or_two_soft_kinds_make_a_response_corrupt() -> None:
    hard, soft, other = (
        defect("leak", Severity.HARD),
        defect("loop", Severity.SOFT),
        defect("empty", Severity.SOFT),
    )
    rate = defect("slip", Severity.RATE)
    assert corruption([soft, hard]) == "leak"
    assert corruption([soft, other]) == "loop"
    assert corruption([soft, soft]) is None
    assert corruption([soft, rate, rate]) is None
    assert corruption([]) is None


def test_an_error_in_the_stream_explains_what_is_missing_after_it() -> None:
    gone = defect("streamerror", Severity.INFRA)
    assert corruption([gone, defect("truncated", Severity.HARD), defect("badjson", Severity.SOFT)]) is None
    assert corruption([gone, defect("flood", Severity.HARD)]) == "flood"


def test_ends_are_told_apart() -> None:
    assert not set(GOOD_ENDS) & set(INFRA_ENDS)


def test_the_history_repeats_what_the_model_said() -> None:
    judgement = judged(STORE, encoded(events_of(replace(plan(STORE), content=("Now.",)))))
    said, answer = history(SCRIPT, judgement)
    assert said["content"] == "Now."
    assert said["tool_calls"][0]["function"]["arguments"] == plan(STORE).text
    assert answer == {
        "role": "tool",
        "tool_call_id": said["tool_calls"][0]["id"],
        "content": "6 rows stored.",
    }


def test_arguments_that_are_no_json_are_not_sent_back() -> None:
    judgement = judged(STORE, encoded(events_of(plan(STORE).with_text(plan(STORE).text[:-1]))))
    assert judgement.end is None
    said, _ = history(SCRIPT, judgement)
    assert said["tool_calls"][0]["function"]["arguments"] == plan(STORE).text


def test_judging_survives_any_bytes() -> None:
    whole = right(SCRIPT, STORE, plan(STORE))
    for seed in range(60):
        noise = table(seed, sessions=1).rng
        at = noise.randrange(len(whole))
        mangled = whole[:at] + noise.randbytes(noise.randrange(30)) + whole[at + noise.randrange(40) :]
        assert judged(STORE, mangled).turn is STORE
