"""The chain: each record names the one before it, and no crash breaks it."""

from __future__ import annotations

import json
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runbook.onhost import audit
from runbook.onhost.calls import Refusal

if TYPE_CHECKING:
    from runbook.ssh import InProcessWire


def chain(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="ascii").splitlines()]


def holds(records: list[dict[str, Any]]) -> bool:
    before = [audit.GENESIS, *(record["hash"] for record in records)]
    numbered = [record["seq"] for record in records] == list(range(1, len(records) + 1))
    linked = all(record["prev"] == prev for record, prev in zip(records, before, strict=False))
    return numbered and linked and all(record["hash"] == audit.digest(record) for record in records)


def test_records_are_chained_by_their_hashes(writing: InProcessWire, state: str) -> None:
    first = writing.call("audit_append", state=state, record={"action": "deploy"})
    second = writing.call("audit_append", state=state, record={"action": "rollback", "why": "é"})
    records = chain(Path(state, "audit.jsonl"))
    assert [first, second] == [{"seq": one["seq"], "hash": one["hash"]} for one in records]
    assert holds(records)


@given(
    st.lists(
        st.dictionaries(st.text(max_size=5), st.integers() | st.text(max_size=5), max_size=3), min_size=1
    )
)
def test_a_changed_record_no_longer_fits(records: list[dict[str, Any]]) -> None:
    linked: list[dict[str, Any]] = []
    for record in records:
        linked.append(audit.chained(record, linked[-1] if linked else None))
    assert holds(linked)
    linked[0]["seq "] = "forged"
    assert not holds(linked)


def test_a_record_cannot_choose_its_own_place(writing: InProcessWire, state: str) -> None:
    writing.call("audit_append", state=state, record={"seq": 99, "prev": "x", "hash": "y"})
    assert holds(chain(Path(state, "audit.jsonl")))


def test_appenders_take_turns(tmp_path: Path) -> None:
    path = tmp_path / "audit.jsonl"
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda number: audit.append(str(path), {"n": number}), range(40)))
    assert holds(chain(path))


def test_a_record_torn_by_a_crash_stays_and_the_chain_goes_on_after_it(tmp_path: Path) -> None:
    path = tmp_path / "audit.jsonl"
    audit.append(str(path), {"n": 1})
    with path.open("ab") as file:
        file.write(b'{"n": 2, "se')
    audit.append(str(path), {"n": 3})
    lines = path.read_bytes().splitlines()
    assert lines[1] == b'{"n": 2, "se'
    assert holds([json.loads(lines[0]), json.loads(lines[2])])


def test_a_record_that_does_not_fit_leaves_no_half(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "audit.jsonl"
    audit.append(str(path), {"n": 1})
    before = path.read_bytes()
    write = os.write
    monkeypatch.setattr(os, "write", lambda descriptor, line: write(descriptor, line[:10]))
    with pytest.raises(Refusal) as caught:
        audit.append(str(path), {"n": 2})
    assert caught.value.kind == "no-space"
    assert path.read_bytes() == before


def test_reading_begins_after_what_is_known(writing: InProcessWire, state: str) -> None:
    assert writing.call("audit_read", state=state, after=0) == {"records": []}
    for number in range(3):
        writing.call("audit_append", state=state, record={"n": number})
    found = writing.call("audit_read", state=state, after=1)["records"]
    assert [json.loads(line)["seq"] for line in found] == [2, 3]


def test_a_line_that_is_no_record_is_shown_to_the_reader(writing: InProcessWire, state: str) -> None:
    writing.call("audit_append", state=state, record={})
    with Path(state, "audit.jsonl").open("a", encoding="ascii") as file:
        file.write("garbage\n")
    assert writing.call("audit_read", state=state, after=1)["records"] == ["garbage"]


def test_one_answer_is_bounded_and_never_empty() -> None:
    line = "x" * (audit.LIMIT_BYTES // 2 + 1)
    assert audit._bounded([line, line, line]) == [line]
    assert audit._bounded([line * 3]) == [line * 3]
