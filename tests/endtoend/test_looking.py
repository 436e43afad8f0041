"""restart, logs, status, releases and report of the lab, as a person uses them; every document is what the schema says."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from tests import jsonschemas

if TYPE_CHECKING:
    from tests.endtoend.story import Desk

pytestmark = pytest.mark.real


def test_a_restart_is_recorded_told_by_status_and_reported(fixed: Desk) -> None:
    assert fixed.document("restart", "--unit", "nosuch", "--yes")["exit_code"] == 2
    restarted = fixed.document("restart", "--unit", "prefill", "--yes", "--reason", "a look at the lab")
    assert [step["name"] for step in restarted["steps"] if step["name"].startswith("restart")] == [
        "restart prefill",
        "restart decode",
    ]
    looked = [
        fixed.document(*words)
        for words in (["status"], ["releases"], ["logs", "--unit", "decode", "--since", "1h"])
    ]
    for document in (restarted, *looked):
        assert (document["exit_code"], jsonschemas.problems(document, "document")) == (0, [])
    last = looked[0]["status"]["last"]
    assert (last["id"], last["action"], last["reason"]) == (
        restarted["rollout"],
        "restart",
        "a look at the lab",
    )
    assert any("decode" in line for line in looked[2]["logs"][0]["lines"])


def test_logs_are_lines_to_be_piped_on_and_a_report_is_a_page(fixed: Desk) -> None:
    code, text = fixed.invoke("logs", "--unit", "decode", "--lines", "1")
    assert code == 0
    assert len(text.splitlines()) == 3  # connected, the line, the verdict
    code, text = fixed.invoke("report", "--json")
    document = json.loads(text)
    assert (code, jsonschemas.problems(document, "report")) == (0, [])
    page = (fixed.directory / document["output"]).read_text()
    assert "SGLANG_OPT_USE_MULTI_STREAM_OVERLAP" in page


def test_verbose_tells_every_call(fixed: Desk) -> None:
    code, text = fixed.invoke("restart", "--unit", "router", "--yes", "-v")
    assert code == 0
    for call in ("> observe", "> lock", "> unit_restart", "> audit_append"):
        assert call in text
