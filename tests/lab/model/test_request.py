from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from runbook.lab.model.request import RefusedRequestError, Rendezvous, parse_request
from tests.lab.model.playing import MODEL, request_of

CHAT = [{"role": "user", "content": "hello"}]
_REFUSED = Path(__file__).parents[2] / "cases" / "lab" / "requests_refused.yml"


def _refused() -> list[Any]:
    cases = yaml.load(_REFUSED.read_text("utf-8"), yaml.CSafeLoader)
    return [pytest.param(case, id=case["name"]) for case in cases]


def _body(case: dict[str, Any]) -> bytes:
    if "deep" in case:
        return b"[" * int(case["deep"])
    if "body" in case:
        return str(case["body"]).encode()
    return json.dumps({"model": MODEL, "messages": CHAT, **case["fields"]}).encode()


@pytest.mark.parametrize("case", _refused())
def test_a_wrong_body_is_refused_with_an_openai_error(case: dict[str, Any]) -> None:
    with pytest.raises(RefusedRequestError) as refused:
        parse_request(_body(case), MODEL)
    assert refused.value.status == case["status"]
    assert case["says"] in refused.value.body["error"]["message"]
    assert set(refused.value.body["error"]) == {"message", "type", "param", "code"}


def test_the_newer_name_of_the_limit_is_understood() -> None:
    assert request_of(CHAT, max_completion_tokens=7).parsed.inference_options.max_tokens == 7
    both = request_of(CHAT, max_completion_tokens=7, max_tokens=5)
    assert both.parsed.inference_options.max_tokens == 5


@pytest.mark.parametrize(
    ("fields", "thinking"),
    [
        ({}, False),
        ({"chat_template_kwargs": {"thinking": True}}, True),
        ({"chat_template_kwargs": {"enable_thinking": True}}, True),
        ({"chat_template_kwargs": {"thinking": False}}, False),
        ({"thinking": {"type": "enabled"}}, True),
    ],
)
def test_thinking_is_off_unless_asked_for_in_any_spelling(fields: dict[str, Any], thinking: bool) -> None:
    assert request_of(CHAT, **fields).thinking is thinking


def test_a_router_adds_where_prefill_waits() -> None:
    fields = {"bootstrap_host": "127.0.0.1", "bootstrap_port": 8998, "bootstrap_room": 12}
    assert request_of(CHAT, **fields).rendezvous == Rendezvous("127.0.0.1", 8998, 12)
    assert request_of(CHAT).rendezvous is None


def test_nulls_and_unknown_fields_mean_nothing() -> None:
    request = request_of(CHAT, max_tokens=None, tools=None, stream_options=None, rid="x", ignore_eos=None)
    assert (request.stream, request.ignore_eos, request.tools) == (False, False, ())
