"""The copy here is the host's chain byte for byte, and never written over by another history."""

from __future__ import annotations

import datetime
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest

from runbook.audit import mirror, path_of, records
from runbook.audit.mirroring import Mirrored, directory, forget, head, read_chain, set_aside
from runbook.audit.record import records_of
from runbook.errors import HelperError
from tests.audit.chains import ChainWire, chain_of, record, three
from tests.building import host

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

NOW = datetime.datetime(2026, 11, 30, 8, tzinfo=datetime.UTC)


def copied(content: bytes, project: Path, *, limit: int = 1 << 20) -> Mirrored:
    return mirror(ChainWire(content, limit=limit), host(), directory(project), NOW)  # type: ignore[arg-type]


def here(project: Path) -> Path:
    return path_of(project, "gpu1")


@pytest.mark.parametrize("limit", [1, 7, 1 << 20])
def test_a_first_copy_is_the_whole_chain_in_as_many_answers_as_it_takes(tmp_path: Path, limit: int) -> None:
    content = three()
    assert copied(content, tmp_path, limit=limit) == Mirrored(len(content))
    assert here(tmp_path).read_bytes() == content
    assert head(here(tmp_path)) == (3, records(here(tmp_path))[-1].hash)
    assert here(tmp_path).stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("limit", [5, 1 << 20])
def test_later_only_what_is_new_comes(tmp_path: Path, limit: int) -> None:
    content = three()
    copied(content, tmp_path)
    more = chain_of([record(4)], content)
    assert copied(more, tmp_path, limit=limit) == Mirrored(len(more) - len(content))
    assert here(tmp_path).read_bytes() == more
    assert copied(more, tmp_path) == Mirrored(0)


def test_a_host_without_a_chain_has_an_empty_copy(tmp_path: Path) -> None:
    assert copied(b"", tmp_path) == Mirrored(0)
    assert records(here(tmp_path)) == ()
    assert head(here(tmp_path)) is None


@pytest.mark.parametrize(
    "damage",
    [
        lambda content: content[:-30] + b"\n",
        lambda content: content + b"\xff not JSON\n",
        lambda content: content.replace(b"ann", b"bob"),
        lambda content: b"\0" * len(content),
    ],
)
def test_a_damaged_copy_is_kept_aside_and_made_anew(tmp_path: Path, damage: Callable[[bytes], bytes]) -> None:
    content = chain_of([record(1, who="ann"), record(2)])
    copied(content, tmp_path)
    damaged = damage(content)
    here(tmp_path).write_bytes(damaged)
    more = chain_of([record(3)], content)
    found = copied(more, tmp_path)
    assert found.aside is not None
    assert found.aside.read_bytes() == damaged
    assert "the copy here was damaged" in found.note
    assert str(found.aside) in found.note
    assert here(tmp_path).read_bytes() == more


@pytest.mark.parametrize("size", [0, 1, 100, 300])
def test_a_copy_that_was_cut_goes_on_where_it_ends(tmp_path: Path, size: int) -> None:
    content = three()
    copied(content, tmp_path)
    here(tmp_path).write_bytes(content[:size])
    assert copied(content, tmp_path) == Mirrored(len(content) - size)
    assert here(tmp_path).read_bytes() == content


def test_a_copy_and_a_host_that_were_both_cut_do_not_bear_out_the_note(tmp_path: Path) -> None:
    content = three()
    copied(content, tmp_path)
    cut = content.splitlines(keepends=True)[0]
    here(tmp_path).write_bytes(cut)
    for _ in range(2):
        found = copied(cut, tmp_path)
        assert found.aside is None
        assert "the note beside the copy knows #3" in found.note
    assert head(here(tmp_path)) == (3, records_of(content)[-1].hash)
    assert not copied(content, tmp_path).note


def test_runs_in_several_windows_take_turns(tmp_path: Path) -> None:
    content = three()
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda _: copied(content, tmp_path, limit=64), range(16)))
    assert sum(one.size_bytes for one in found) == len(content)
    assert here(tmp_path).read_bytes() == content


def test_a_host_whose_history_is_another_is_told_with_the_record_it_lost(tmp_path: Path) -> None:
    copied(three(), tmp_path)
    found = copied(chain_of([record(7)]), tmp_path)
    assert "holds record #1" in found.why
    assert "no longer has" in found.why
    assert set_aside(here(tmp_path)) == (found.aside,)
    assert [one.document["n"] for one in records(here(tmp_path))] == [7]


def test_a_chain_cut_on_the_host_is_told(tmp_path: Path) -> None:
    content = three()
    copied(content, tmp_path)
    found = copied(chain_of([record(1)]), tmp_path)
    assert found.aside is not None
    assert found.aside.read_bytes() == content


def test_bytes_that_differ_around_the_same_records_are_told_too(tmp_path: Path) -> None:
    copied(three(), tmp_path)
    assert "other bytes" in copied(b"\n" + three(), tmp_path).why


def test_a_chain_begun_anew_on_purpose_is_forgotten_with_its_asides(tmp_path: Path) -> None:
    copied(three(), tmp_path)
    copied(chain_of([record(9)]), tmp_path)
    forget(directory(tmp_path), "gpu1")
    assert not list(directory(tmp_path).glob("gpu1*"))


def test_a_host_that_promises_more_than_it_sends_is_no_endless_loop() -> None:
    wire = ChainWire(three(), limit=0)
    with pytest.raises(HelperError, match="ended after 0 of"):
        read_chain(wire, "/state")  # type: ignore[arg-type]


def test_a_host_that_never_stops_sending_is_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("runbook.audit.mirroring.MOST_BYTES", 100)
    with pytest.raises(HelperError, match="at most 100 are taken"):
        read_chain(ChainWire(three(), limit=64), "/state")  # type: ignore[arg-type]
