"""Records as values: whatever stands in them."""

from __future__ import annotations

import datetime
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runbook import audit
from runbook.audit import prose
from runbook.audit.record import Record, moment, parse, records_of
from runbook.errors import UsageError
from runbook.onhost.audit import canonical_line, linked, place
from tests.audit.chains import VARIED, chain_of, record, three

if TYPE_CHECKING:
    from pathlib import Path

ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)
FIELDS = st.sampled_from(
    ["id", "host", "action", "outcome", "started", "ended", "operator", "tool", "facts", "plan", "files", "restarts",
     "steps", "findings", "validations", "probes",
     "calls", "programs", "calls_left_out", "programs_left_out", "error", "reason", "signature", "release"]
)  # fmt: skip


@given(st.dictionaries(FIELDS, ANYTHING))
def test_a_record_of_any_content_can_be_read_and_told(document: dict[str, Any]) -> None:
    line = canonical_line(linked(document, place(b"")))
    (found,) = records_of(line)
    assert found.line + b"\n" == line
    assert isinstance(found.started, datetime.datetime | None)
    told = [*prose.lines(found), *prose.lines(found, every_call=True)]
    assert all(isinstance(text, str) for text in told)


@pytest.mark.parametrize("key", ["id", "reason", "error", "release", "recorded_by"])
@pytest.mark.parametrize("end", ["\n", "\r", "\x0b", "\x85", "\u2028"])
@pytest.mark.parametrize("every_call", [False, True])
def test_no_text_of_a_record_passes_for_a_line_of_ours(key: str, end: str, every_call: bool) -> None:
    forged = f"x{end}record #9 {'a' * 64} continues {'b' * 12}, signed"
    document = {
        key: forged,
        "seq": 1,
        "hash": "c",
        "findings": [{"message": forged}],
        "steps": [{"name": forged}],
        "programs": [{"command": forged, "call": forged, "error": forged}],
        "calls": [{"call": forged, "about": forged, "error": forged}],
    }
    told = prose.lines(Record(document, b""), every_call=every_call)
    assert [line for line in told if line.startswith("record #")] == ["record #1 c continues , not signed"]


@pytest.mark.parametrize(
    "line",
    [b"", b"garbage", b"[]", b"{}", b'{"seq":1}', b'{"seq":"1","hash":"a"}', b'{"seq":true,"hash":"a"}', b"\xff",
     b"[" * 100_000, *(b'{"seq":1,"hash":"a","n":%b}' % n for n in (b"NaN", b"-Infinity", b"1e999"))],
)  # fmt: skip
def test_what_is_no_record_is_none(line: bytes) -> None:
    assert parse(line) is None


@pytest.mark.parametrize(
    ("text", "want"),
    [
        ("2026-11-30T03:51:11.000+00:00", "2026-11-30T03:51:11+00:00"),
        ("2026-11-30T03:51:11+02:00", "2026-11-30T01:51:11+00:00"),
        ("2026-11-30T03:51:11", "2026-11-30T03:51:11+00:00"),
        ("yesterday", None),
        ("0001-01-01T00:00:00+14:00", None),
        ("9999-12-31T23:59:59-12:00", None),
        (None, None),
        (12, None),
    ],
)
def test_a_moment_is_in_utc_or_unknown(text: Any, want: str | None) -> None:
    found = moment(text)
    assert (found and found.isoformat()) == want


# ------------------------------------------------------------------ finding one


@pytest.fixture
def mirrors(tmp_path: Path) -> Path:
    (tmp_path / "gpu1.jsonl").write_bytes(three())
    other = {"id": "20261130T09-x", "host": "gpu2", "started": "2026-11-30T09:00:00+00:00"}
    (tmp_path / "gpu2.jsonl").write_bytes(chain_of([other, {**other, "id": "20261130T09-xy"}]))
    (tmp_path / "gpu2.jsonl.20261130T080000.aside").write_bytes(chain_of([record(9)]))
    return tmp_path


def test_the_beginning_of_an_id_is_enough(mirrors: Path) -> None:
    assert audit.find(mirrors, "20261130T035").id == VARIED["id"]


def test_a_whole_id_is_meant_although_another_begins_with_it(mirrors: Path) -> None:
    assert audit.find(mirrors, "20261130T09-x").id == "20261130T09-x"


def test_an_ambiguous_beginning_lists_the_candidates(mirrors: Path) -> None:
    with pytest.raises(UsageError) as refused:
        audit.find(mirrors, "20261130T0")
    assert "the beginning of 3 records" in str(refused.value)
    assert f"{VARIED['id']}  gpu1 deploy" in str(refused.value)


def test_of_many_candidates_the_youngest_are_listed(tmp_path: Path) -> None:
    many = [
        {"id": f"20261130T{n:02}-x", "host": "gpu1", "started": f"2026-11-30T09:{n:02}:00+00:00"}
        for n in range(20)
    ]
    (tmp_path / "gpu1.jsonl").write_bytes(chain_of(many))
    with pytest.raises(UsageError) as refused:
        audit.find(tmp_path, "2026")
    first, *listed = str(refused.value).splitlines()
    assert first == "'2026' is the beginning of 20 records, the last 8 of them:"
    assert [line.split()[0] for line in listed] == [f"20261130T{n:02}-x" for n in range(12, 20)]


def test_a_host_narrows_the_search(mirrors: Path) -> None:
    assert audit.find(mirrors, "20261130T0", ["gpu1"]).host == "gpu1"


@pytest.mark.parametrize(("prefix", "hosts"), [("nope", ()), ("2026", ("gpu3",)), ("", ("gpu3",))])
def test_no_such_record_is_refused(mirrors: Path, prefix: str, hosts: tuple[str, ...]) -> None:
    with pytest.raises(UsageError, match="no audit record"):
        audit.find(mirrors, prefix, hosts)


def test_without_an_id_the_youngest_is_meant(mirrors: Path) -> None:
    assert audit.find(mirrors).id == "20261130T09-xy"
    assert audit.find(mirrors, hosts=["gpu1"]).seq == 3


def test_all_mirrors_are_read_in_order_of_time_and_nothing_set_aside(mirrors: Path) -> None:
    found = audit.in_mirrors(mirrors)
    assert len(found) == 5
    assert [one.host for one in found][-3:] == ["gpu1", "gpu2", "gpu2"]


def test_two_host_files_of_one_service_share_a_chain_and_each_record_counts_once(mirrors: Path) -> None:
    (mirrors / "gpu1-b.jsonl").write_bytes(three())
    assert len(audit.in_mirrors(mirrors)) == 5
    assert audit.find(mirrors, str(VARIED["id"])).host == "gpu1"


def test_a_record_is_found_in_its_mirror_whatever_host_it_names(mirrors: Path) -> None:
    (mirrors / "gpu3.jsonl").write_bytes(chain_of([{"id": "odd", "host": "../../etc/passwd"}]))
    assert audit.mirror_of(mirrors, audit.find(mirrors, "odd")).name == "gpu3.jsonl"
    with pytest.raises(KeyError):
        audit.mirror_of(mirrors, records_of(chain_of([record(99)]))[0])


def test_a_unit_that_is_restarted_again_was_on_the_way_back() -> None:
    restart = {"unit": "decode.service", "before": 1, "after": 2}
    planned = {"restarts": [{"unit": "decode.service", "why": "K is '0', wanted '1'"}]}
    told = prose.lines(Record({"seq": 1, "hash": "", "plan": planned, "restarts": [restart, restart]}, b""))
    assert [line.rpartition(" (")[2] for line in told if "restarted decode" in line] == [
        "K is '0', wanted '1')",
        "on the way back)",
    ]
