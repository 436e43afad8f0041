"""Names of launch arguments that are misspelt or cut short are told of before a server refuses them."""

from __future__ import annotations

import datetime

import pytest

from runbook import looking
from runbook.edits.shell import spellings
from runbook.model import Argument, Host
from runbook.options import Options
from runbook.verdict import Outcome
from runbook.verify import bookkeeping, optionnames
from tests.building import UNITS, host
from tests.test_rollout import a_host, work_on

KNOWN = optionnames.parse(optionnames.SHIPPED.read_text("ascii"))


def declaring(*names: str) -> Host:
    args = tuple(Argument(name, "1", "why") for name in names)
    return host(units=tuple(unit._replace(args=args) if unit.role == "decode" else unit for unit in UNITS))


@pytest.mark.parametrize(
    ("name", "want"),
    [
        ("--max-running-request", ("--max-running-requests",)),
        ("--mem-fraction", ("--mem-fraction-static",)),
        ("--mem-fraction-satic", ("--mem-fraction-static",)),
        ("--tensor", ("--tensor-parallel-size",)),
        ("--disable-cuda-grap", ("--disable-cuda-graph", "--disable-cuda-graph-padding")),
        ("--max_num_seq", ("--max-num-seqs",)),
    ],
)
def test_a_name_that_comes_close_or_is_cut_short_tells_what_was_meant(
    name: str, want: tuple[str, ...]
) -> None:
    assert optionnames.meant(name, KNOWN) == want


@pytest.mark.parametrize(
    "name",
    [
        *("--tp", "-tp", "--tp-size", "--model", "--ep", "--enable-lora"),
        *("--gpu_memory_utilization", "--no-enable-prefix-caching", "--compilation-config.mode"),
        *("--cuda-graph-max-bs", "--cuda-graph-bs", "--max-micro-batch-size", "--nsa-prefill-backend"),
        *("--eviction-interval", "--num-redundant-experts"),
        *("--ctx-size", "--n-gpu-layers", "--an-option-of-next-year"),
    ],
)
def test_known_spellings_and_names_like_no_other_are_left_alone(name: str) -> None:
    assert optionnames.meant(name, KNOWN) == ()


def test_no_alias_of_an_option_is_called_short() -> None:
    named = [name for names in spellings._SAME for name in names]
    assert [name for name in named if optionnames.meant(name, KNOWN)] == []


def test_no_listed_option_is_taken_for_another() -> None:
    assert [name for name in KNOWN if optionnames.meant(name, KNOWN)] == []


def test_the_ledger_warns_of_it_and_fails_nothing() -> None:
    found = bookkeeping.book(declaring("--max-running-request"), None, datetime.date(2026, 11, 30))
    (one,) = [finding for finding in found if finding.check == "ledger.misspelt"]
    assert one.outcome is Outcome.PASS
    assert one.message.startswith(
        "warning: --max-running-request on decode: declared, but no option that SGLang, its router or vLLM is known to "
        "have (hosts/gpu1.yml); did you mean --max-running-requests?"
    )


def test_a_plan_notes_it() -> None:
    wanted = declaring("--max-running-request")
    plan = looking.plan(work_on(a_host(host=wanted)), Options()).plan
    assert plan is not None
    assert any("did you mean --max-running-requests?" in note for note in plan.notes)


def test_a_plan_of_known_options_notes_nothing_of_them() -> None:
    plan = looking.plan(work_on(a_host(host=declaring("--max-running-requests"))), Options()).plan
    assert plan is not None
    assert not any("did you mean" in note for note in plan.notes)
