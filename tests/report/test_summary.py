from __future__ import annotations

import pytest

from runbook import report
from runbook.report.summary import escaped
from tests.report.made import HOSTILE, record


def test_a_summary_is_short_and_says_what_a_reviewer_needs() -> None:
    text = report.markdown(record("word"))
    assert len(text.splitlines()) <= 40
    assert text.startswith("**deploy word: FAIL**\n")
    for said in (
        "by word@\u200bword",
        "change word: -old word; +new word",
        "restart decode.service: on the way back",
        "| 0.996 |",
    ):
        assert said in text, said


def test_text_of_a_host_is_neither_markup_nor_a_mention() -> None:
    text = report.markdown(record(HOSTILE + "\n\n# @ann | _x_ *y* [z](http://x)"))
    assert "\n# " not in text
    assert "@ann" not in text
    assert "<script" not in text.replace("\\<", "")
    assert "](" not in text.replace("\\]", "")


@pytest.mark.parametrize(
    ("text", "want"),
    [
        ("SGLANG_OPT_USE_TOPK_V2=0", "SGLANG_OPT_USE_TOPK_V2=0"),
        ("_x_ a_b", "\\_x\\_ a_b"),
        ("a|b `c` <d> *e*", "a\\|b \\`c\\` \\<d\\> \\*e\\*"),
        ("a\nb", "a b"),
        ("x" * 500, "x" * 239 + "…"),
    ],
)
def test_what_markdown_obeys_is_escaped(text: str, want: str) -> None:
    assert escaped(text) == want


def test_long_lists_are_cut() -> None:
    flags = record()["findings"] * 100
    assert len(report.markdown(record("word", findings=flags)).splitlines()) <= 40


@pytest.mark.parametrize(
    ("slower", "said"), [(True, "slower, no regression beyond 7.5%"), (False, "| no regression beyond 7.5%")]
)
def test_a_loss_that_is_seen_and_allowed_is_still_named_one(slower: bool, said: str) -> None:
    row = {"concurrency": 8, "low": 0.925, "high": 0.98, "verdict": "no regression", "slower": slower}
    assert said in report.markdown(record("word", bench={"comparison": {"rows": [row]}}))


def test_a_deploy_that_was_declined_is_called_so_on_the_page_too() -> None:
    declined = {
        "action": "deploy", "host": "gpu1", "outcome": "error", "exit_code": 130, "steps": [{"name": "plan", "outcome": "pass"}],
    }  # fmt: skip
    assert report.markdown(declined).startswith("**deploy gpu1: DECLINED**\n")
    page = report.html(declined)
    assert '<span class="badge error">declined</span>' in page
    assert "<title>deploy gpu1: declined</title>" in page
