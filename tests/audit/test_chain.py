"""No byte of a chain can change, come or go without being found, and the first bad record is named."""

from __future__ import annotations

import itertools
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runbook.audit.chain import beyond, first_defect
from runbook.audit.record import records_of
from runbook.onhost import audit
from tests.audit.chains import VARIED, chain_of, record, three

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
RECORDS = st.lists(st.dictionaries(st.text(max_size=8), JSON, max_size=4), min_size=1, max_size=4)


def heads_of(content: bytes) -> list[tuple[int, str]]:
    return [(one.seq, one.hash) for one in records_of(content)]


def is_found(content: bytes, heads: list[tuple[int, str]]) -> bool:
    """Is anything wrong, by the chain itself or against what the journal remembers?"""
    return first_defect(content) is not None or beyond(records_of(content), heads, "the journal") is not None


def lines(content: bytes) -> list[bytes]:
    return content.splitlines(keepends=True)


@given(RECORDS)
def test_a_chain_as_it_was_written_holds(records: list[dict[str, Any]]) -> None:
    content = chain_of(records)
    assert not is_found(content, heads_of(content))


def test_an_empty_chain_holds() -> None:
    assert first_defect(b"") is None


def test_every_flipped_bit_of_every_byte_is_found() -> None:
    content = three()
    for at, bit in itertools.product(range(len(content)), range(8)):
        flipped = bytearray(content)
        flipped[at] ^= 1 << bit
        assert first_defect(bytes(flipped)) is not None, (at, bit)


def test_every_byte_of_a_signed_record_counts_the_signature_too() -> None:
    content = chain_of([{**record(1), "signature": "-----BEGIN SSH SIGNATURE-----\nU1NI\n"}])
    for at in range(len(content)):
        assert first_defect(content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :]) is not None, at


@given(RECORDS, st.data())
def test_a_byte_changed_to_any_other_is_found(records: list[dict[str, Any]], data: st.DataObject) -> None:
    content = chain_of(records)
    at = data.draw(st.integers(0, len(content) - 1))
    value = data.draw(st.integers(0, 255).filter(lambda value: value != content[at]))
    assert first_defect(content[:at] + bytes([value]) + content[at + 1 :]) is not None


@given(RECORDS, st.data())
def test_a_byte_more_or_less_is_found(records: list[dict[str, Any]], data: st.DataObject) -> None:
    content = chain_of(records)
    at = data.draw(st.integers(0, len(content) - 1))
    more = bytes([data.draw(st.integers(0, 255))])
    assert first_defect(content[:at] + content[at + 1 :]) is not None
    assert first_defect(content[:at] + more + content[at:]) is not None


def test_every_cut_is_found_with_the_journals_heads() -> None:
    content = three()
    for size in range(len(content)):
        assert is_found(content[:size], heads_of(content)), size


def test_a_cut_between_two_records_shows_by_the_heads_alone() -> None:
    content = three()
    cut = b"".join(lines(content)[:2])
    assert first_defect(cut) is None
    defect = beyond(records_of(cut), heads_of(content), "the host's journal")
    assert defect is not None
    assert (defect.seq, defect.kind) == (3, "truncated")
    assert "the chain ends at #2" in str(defect)


@given(st.data())
def test_every_record_dropped_repeated_or_moved_is_found(data: st.DataObject) -> None:
    content = chain_of([record(number) for number in range(6)])
    whole = lines(content)
    order = data.draw(st.lists(st.integers(0, 5), max_size=8).filter(lambda order: order != [*range(6)]))
    assert is_found(b"".join(whole[at] for at in order), heads_of(content))


@pytest.mark.parametrize(
    ("order", "seq", "kind"),
    [
        ([0, 2, 3], 2, "missing"),
        ([1, 2, 3], 1, "missing"),
        ([0, 2, 1, 3], 2, "reordered"),
        ([0, 1, 1, 2, 3], 2, "repeated"),
        ([0, 1, 2, 0, 3], 1, "repeated"),
    ],
)
def test_the_first_bad_record_is_named(order: list[int], seq: int, kind: str) -> None:
    whole = lines(chain_of([record(number) for number in range(4)]))
    defect = first_defect(b"".join(whole[at] for at in order))
    assert defect is not None
    assert (defect.seq, defect.kind) == (seq, kind)


def test_a_record_written_anew_with_its_right_hash_breaks_off_from_the_next() -> None:
    whole = lines(three())
    forged = audit.linked({**record(2), "outcome": "pass"}, audit.place(whole[0]))
    defect = first_defect(whole[0] + audit.canonical_line(forged) + whole[2])
    assert defect is not None
    assert (defect.seq, defect.kind) == (3, "replaced")


def test_a_chain_written_anew_from_there_on_is_not_the_one_the_journal_knows() -> None:
    content = three()
    forged = chain_of([VARIED, {**record(2), "outcome": "pass"}, record(3)])
    assert first_defect(forged) is None
    defect = beyond(records_of(forged), heads_of(content), "the host's journal")
    assert defect is not None
    assert (defect.seq, defect.kind) == (2, "replaced")


@pytest.mark.parametrize(
    "rewrite",
    [
        lambda line: line.replace(b'":', b'": ', 1),
        lambda line: line[:-1] + b" \n",
        lambda line: b" " + line,
        lambda line: line.replace(b"0.25", b"0.250"),
        lambda line: line.replace(b"0.25", b"25e-2"),
        lambda line: line.replace(b"\\u2028", "\u2028".encode()),
        lambda line: line.replace(b"\\ud83d", b"\\uD83D"),
        lambda line: line.replace(b'{"action"', b'{"action":"x","action"', 1),
        lambda line: (
            json.dumps(dict(reversed(json.loads(line).items())), separators=(",", ":")).encode() + b"\n"
        ),
        lambda line: line[:-1] + b"\r\n",
    ],
)
def test_the_same_record_written_in_another_way_is_found(rewrite: Any) -> None:
    whole = lines(three())
    rewritten = rewrite(whole[0])
    assert rewritten != whole[0]
    defect = first_defect(rewritten + whole[1] + whole[2])
    assert defect is not None
    assert (defect.seq, defect.kind) == (1, "edited")


@pytest.mark.parametrize(
    "garbage",
    [
        b"\n", b"\0", b"garbage\n", b"{}\n", b'{"seq":4,"hash":"x"}\n', b"[" * 100_000 + b"\n", b"\xff\xfe\n",
        b'{"seq":4,"hash":"' + b"0" * 64 + b'","x":NaN}\n', b'{"hash":"a","seq":true}\n', b'{"seq":' + b"9" * 5000 + b"}\n",
    ],
)  # fmt: skip
def test_what_was_added_at_the_end_is_found(garbage: bytes) -> None:
    assert first_defect(three() + garbage) is not None


# ------------------------------------------------------------------ what a crash leaves


TORN = b'{"action":"deploy","hal'


def test_a_half_line_is_right_only_where_the_next_record_owns_up_to_it() -> None:
    content = chain_of([record(3)], chain_of([record(1), record(2)]) + TORN)
    assert TORN + b"\n" in content
    assert first_defect(content) is None


def test_crashes_one_after_the_other_are_owned_up_to_by_the_next_record() -> None:
    content = chain_of([record(2), record(3)], chain_of([record(1)]) + TORN + b"\n" + TORN[:4])
    assert TORN + b"\n" + TORN[:4] + b"\n" in content
    assert first_defect(content) is None


@pytest.mark.parametrize("left", [TORN, TORN + b"\n" + TORN[:4]])
def test_every_flipped_byte_around_a_half_line_is_found(left: bytes) -> None:
    content = chain_of([record(2)], chain_of([record(1)]) + left)
    for at in range(len(content)):
        assert first_defect(content[:at] + bytes([content[at] ^ 4]) + content[at + 1 :]) is not None, at


def test_a_half_line_that_nobody_owned_up_to_yet_is_told_as_torn() -> None:
    defect = first_defect(three() + TORN)
    assert defect is not None
    assert (defect.seq, defect.kind) == (4, "torn")


def test_a_half_line_taken_away_is_missed() -> None:
    content = chain_of([record(2)], chain_of([record(1)]) + TORN)
    defect = first_defect(content.replace(TORN + b"\n", b""))
    assert defect is not None
    assert defect.kind == "edited"


def test_a_half_line_owned_up_to_twice_is_found() -> None:
    content = chain_of([record(2)], chain_of([record(1)]) + TORN)
    assert first_defect(content.replace(TORN + b"\n", TORN + b"\n" + TORN + b"\n")) is not None
