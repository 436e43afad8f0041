from __future__ import annotations

import pytest

from runbook.lab.model.switches import parse_bool, read_switches

OVERLAP, BF16 = "SGLANG_OPT_USE_MULTI_STREAM_OVERLAP", "SGLANG_DSV4_BF16_INDEX_K"
TOPK = "SGLANG_OPT_USE_TOPK_V2"


@pytest.mark.parametrize(
    ("environ", "races"),
    [
        ({}, False),
        ({BF16: "1"}, True),
        ({BF16: "true", OVERLAP: "1"}, True),
        ({BF16: "1", OVERLAP: "0"}, False),
        ({BF16: "1", OVERLAP: "FALSE"}, False),
        ({BF16: "y", OVERLAP: "no"}, False),
        ({BF16: "1", OVERLAP: "n"}, False),
        ({BF16: "1", OVERLAP: "yes"}, True),
        ({BF16: "0"}, False),
        ({OVERLAP: "1"}, False),
        ({BF16: "1", TOPK: "0"}, True),
        ({BF16: "1", TOPK: "1", OVERLAP: "0"}, False),
        ({BF16: "1", "SGLANG_OPT_USE_MULTI_STREAM_OVERLAPS": "0"}, True),
    ],
)
def test_the_streams_race_with_bf16_keys_unless_overlap_is_off(environ: dict[str, str], races: bool) -> None:
    assert read_switches(environ).races is races


@pytest.mark.parametrize("text", ["maybe", "", "2", "on", "off", "t", " 1"])
def test_a_boolean_sglang_would_reject_is_rejected_by_name(text: str) -> None:
    with pytest.raises(ValueError, match=f'{OVERLAP}: "{text}" is not a valid boolean value'):
        read_switches({OVERLAP: text})


@pytest.mark.parametrize(("text", "value"), [("Yes", True), ("1", True), ("N", False), ("false", False)])
def test_booleans_are_read_as_sglang_reads_them(text: str, value: bool) -> None:
    assert parse_bool(OVERLAP, text) is value


@pytest.mark.parametrize("text", ["fast", "-1", "nan", "inf"])
def test_a_number_that_is_none_is_rejected(text: str) -> None:
    with pytest.raises(ValueError, match="RUNBOOK_LAB_SLOW"):
        read_switches({"RUNBOOK_LAB_SLOW": text})


def test_only_the_engines_and_the_labs_variables_are_shown() -> None:
    environ = {"HOME": "/root", "API_KEY": "secret", BF16: "1", "RUNBOOK_LAB_SEED": "7"}
    switches = read_switches(environ)
    assert dict(switches.shown) == {BF16: "1", "RUNBOOK_LAB_SEED": "7"}
    assert switches.seed == 7
