"""No secret enters a record, and no value that JSON has no word for."""

from __future__ import annotations

import json
from typing import Any

import pytest

from runbook.audit.masked import masked


@pytest.mark.parametrize(
    "value",
    [
        "export HF_TOKEN=sesame",
        "+export OPENAI_API_KEY='sesame'",
        ["python", "serve.py --api-key sesame --port 1"],
        {"HF_TOKEN": "sesame"},
        {"environ": {"AWS_SECRET_ACCESS_KEY": "sesame"}},
        {"deep": [{"error": "refused: Environment=DB_PASSWORD=sesame"}]},
        {"PASSWORD=sesame": 1},
        ("--token=sesame",),
    ],
)
def test_a_value_whose_name_says_so_is_masked(value: Any) -> None:
    told = json.dumps(masked(value))
    assert "sesame" not in told
    assert "***" in told


def test_the_endpoints_key_is_masked_wherever_it_turns_up() -> None:
    told = masked({"error": "HTTP 401: key sk-12345 refused", "sk-12345": ["sk-12345"]}, ["sk-12345"])
    assert told == {"error": "HTTP 401: key *** refused", "***": ["***"]}


def test_a_secret_of_a_letter_or_two_would_mask_every_word_and_is_left() -> None:
    assert masked("an able cable", ["ab"]) == "an able cable"


def test_what_is_no_secret_stays_as_it_is() -> None:
    value = {
        "token": "deepseek",
        "max_tokens": 8,
        "fingerprint": "SHA256:abc",
        "MAX_TOKENS": "8",
        "KEY": None,
        "rows": [1, 2.5, True, None],
    }
    assert masked(value) == value


@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf")])
def test_a_number_that_is_none_becomes_text(value: float) -> None:
    assert masked({"rate": value}) == {"rate": str(value)}


def test_what_is_nested_beyond_reason_is_cut() -> None:
    value: Any = "core"
    for _ in range(900):
        value = [value]
    told = json.dumps(masked({"result": value}))
    assert "core" not in told
    assert "nested too deeply" in told
