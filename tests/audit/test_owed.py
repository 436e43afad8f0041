"""Records that a host could not take, kept here until its chain has them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from runbook import audit
from runbook.audit import owed, prose
from runbook.audit.owed import Owed
from tests.audit.chains import VARIED, chain_of, record

if TYPE_CHECKING:
    from pathlib import Path

LOST = {**VARIED, "id": "20261130T200000-abcd", "outcome": "error", "exit_code": 7, "started": "2026-11-30T20:00:00+00:00",
        "plan": {"changes": [{"path": "/a", "diff": "-old\n+new\n"}]}}  # fmt: skip


@pytest.fixture
def kept(tmp_path: Path) -> Owed:
    found = Owed(tmp_path, "gpu1")
    found.keep(LOST)
    return found


def test_what_is_owed_is_found_by_its_rollout_and_read_by_nobody_else(kept: Owed) -> None:
    assert (kept.of(LOST["id"]) or {})["plan"] == LOST["plan"]
    assert kept.of("20261130T200000-ffff") is None
    assert [path.stat().st_mode & 0o777 for path in kept.directory.iterdir()] == [0o600]


@pytest.mark.parametrize("named", ["../../etc/passwd", "", "a/b", "x" * 200, "*"])
def test_a_host_that_names_a_strange_rollout_reaches_no_file(kept: Owed, named: str) -> None:
    assert kept.of(named) is None


def test_it_is_kept_until_the_chain_has_one_of_its_id(kept: Owed) -> None:
    kept.settle(chain_of([record(2)]))
    assert kept.of(LOST["id"])
    kept.settle(chain_of([record(2), {**LOST, "recorded_by": "x"}]))
    assert owed.records(kept.directory) == ()


def test_it_stands_among_the_records_here_and_says_what_it_is(kept: Owed) -> None:
    (kept.directory / "gpu1.jsonl").write_bytes(chain_of([VARIED]))
    ours, lost = audit.known(kept.directory)
    assert (ours.id, lost.id, ours.is_owed, lost.is_owed) == (VARIED["id"], LOST["id"], False, True)
    assert audit.find(kept.directory).id == LOST["id"]
    told = prose.lines(lost)
    assert "+new" in told
    assert told[-1].startswith("not in the host's chain")
    assert audit.known(kept.directory, ["gpu2"]) == ()
    assert [found.id for found in audit.in_mirrors(kept.directory)] == [VARIED["id"]]


def test_the_chain_is_believed_where_it_has_the_record(kept: Owed) -> None:
    (kept.directory / "gpu1.jsonl").write_bytes(chain_of([LOST]))
    assert [found.is_owed for found in audit.known(kept.directory)] == [False]


@pytest.mark.parametrize("content", [b"", b"[1]", b"{", b"[" * 100_000, b"\xff"])
def test_a_damaged_one_is_none(kept: Owed, content: bytes) -> None:
    (path,) = kept.directory.iterdir()
    path.write_bytes(content)
    assert kept.of(LOST["id"]) is None
    assert owed.records(kept.directory) == ()


def test_of_a_host_that_takes_no_record_the_youngest_are_kept(kept: Owed) -> None:
    for number in range(owed.MOST):
        kept.keep({**LOST, "id": f"20261130T2100{number:02}-abcd"})
    assert len(owed.records(kept.directory)) == owed.MOST
    assert kept.of(LOST["id"]) is None


def test_a_host_made_anew_is_owed_nothing(kept: Owed) -> None:
    audit.forget(kept.directory, "gpu1")
    assert list(kept.directory.iterdir()) == []


def test_a_host_whose_name_goes_on_keeps_what_it_is_owed(kept: Owed) -> None:
    longer = Owed(kept.directory, f"{kept.host}.rack2")
    longer.keep({"id": "20261130T100000-cccc", "host": longer.host})
    kept.forget()
    assert longer.of("20261130T100000-cccc") is not None
    assert [one.host for one in owed.records(kept.directory)] == [longer.host]
