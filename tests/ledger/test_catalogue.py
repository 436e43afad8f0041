"""The shipped catalogue is in order, and near misses are found in it."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from runbook import inventory, ledger
from runbook.ledger.catalogue import near

_DOCUMENT: dict[str, Any] = inventory.document(ledger.SHIPPED)
_CATALOGUE = ledger.parse(_DOCUMENT)
_LONG = sorted(name for name in _CATALOGUE.known if len(name) > 20)


def test_no_name_is_listed_twice() -> None:
    kinds = [_DOCUMENT["booleans"], _DOCUMENT["numbers"], _DOCUMENT["texts"], list(_DOCUMENT["renamed"])]
    assert all(len(kind) == len(set(kind)) for kind in kinds)
    assert not [set(a) & set(b) for a, b in combinations(kinds, 2) if set(a) & set(b)]


def test_every_known_name_is_the_engines_or_a_librarys() -> None:
    assert all(name.startswith(_CATALOGUE.prefixes) for name in _CATALOGUE.known)


@pytest.mark.parametrize(
    ("name", "value", "cost"),
    [
        ("SGLANG_DEBUG_HISPARSE_SKIP_IO", "1", "garbage output"),
        ("SGLANG_SIMULATE_ACC_LEN", "3", "garbage output"),
        ("SGLANG_KV_CANARY_PERTURB_WARMUP_STEPS", "50", "garbage output"),
        ("SGLANG_TEST_DISAGG_FAILURE_PROB", "0.1", "garbage output"),
        ("SGLANG_TEST_STUCK_TOKENIZER", "9", "crash or hang"),
        ("SGLANG_CRASH_ON_JIT_COMPILE", "true", "crash or hang"),
        ("CUDA_LAUNCH_BLOCKING", "1", "crash or hang; it also hides races"),
        ("CUDA_LAUNCH_BLOCKING", "0", None),
        ("SGLANG_TEST_RETRACT", "1", "slow"),
        ("SGLANG_ENABLE_NVTX_SCHEDULER", "yes", "slow"),
        ("TORCH_DISTRIBUTED_DEBUG", "detail", "slow"),
        ("TORCH_DISTRIBUTED_DEBUG", "OFF", None),
        ("--disable-cuda-graph", None, "slow; it also hides faults of graph capture"),
        ("NCCL_DEBUG", "INFO", "log or disk"),
        ("NCCL_DEBUG", "trace", "log or disk"),
        ("NCCL_DEBUG", "WARN", None),
        ("NCCL_DEBUG", None, "log or disk"),
        ("SGLANG_DSPARK_DEBUG_DUMP", "a,b", "log or disk"),
        ("SGLANG_DIAG_BYPASS_HEALTH_GENERATE", "1", "hides faults"),
        (
            "SGLANG_ENABLE_HEALTH_ENDPOINT_GENERATION",
            "0",
            "hides faults; the health probe no longer asks for a token",
        ),
        ("SGLANG_ENABLE_HEALTH_ENDPOINT_GENERATION", "1", None),
        ("SGLANG_FORK_DEBUG_STREAMS", "1", "its name says DEBUG"),
        ("SGLANG_FORK_DEBUG_STREAMS", "", None),
        ("SGLANG_LATEST_ONLY", "1", None),
        ("SGLANG_PYSPY_DUMP_BEFORE_CRASH", "1", None),
        ("MY_DEBUG", "1", None),
        ("--tp", "8", None),
        ("SGLANG_OPT_USE_MULTI_STREAM_OVERLAP", "0", None),
    ],
)
def test_diagnostics_are_known_by_name_and_value(name: str, value: str | None, cost: str | None) -> None:
    assert _CATALOGUE.diagnostic(name, value) == cost


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("SGLANG_OPT_USE_MULTISTREAM_OVERLAP", "SGLANG_OPT_USE_MULTI_STREAM_OVERLAP"),
        ("sglang_opt_use_topk_v2", "SGLANG_OPT_USE_TOPK_V2"),
        ("SGLANG_OPT_USE_MULTI_STREAM_OVERLAPS", "SGLANG_OPT_USE_MULTI_STREAM_OVERLAP"),
        ("SGLANG_USE_MULTI_STREAM_OVERLAP", "SGLANG_OPT_USE_MULTI_STREAM_OVERLAP"),
        ("NCCL_DEBG", "NCCL_DEBUG"),
        ("NCCL_RINGS", None),
        ("SGLANG_SOMETHING_ELSE", None),
        ("", None),
    ],
)
def test_a_near_miss_names_what_was_meant(name: str, meant: str | None) -> None:
    assert near(name, _CATALOGUE.known) == meant


@given(name=st.sampled_from(_LONG), data=st.data())
def test_one_wrong_letter_is_always_a_near_miss(name: str, data: st.DataObject) -> None:
    index = data.draw(st.integers(len("SGLANG_"), len(name) - 1))
    wrong = name[:index] + data.draw(st.sampled_from(["", "X", name[index] * 2])) + name[index + 1 :]
    assume(wrong not in _CATALOGUE.known)
    meant = near(wrong, _CATALOGUE.known)
    assert meant is not None
    assert meant == name or near(meant, {name}) == name
