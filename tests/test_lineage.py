from __future__ import annotations

import itertools
from typing import Any

import pytest

from runbook import lineage
from tests.building import observation, release

SEEN = observation()


def made(name: str, parent: str | None = None, **fields: Any) -> Any:
    return release(name, SEEN, parent=parent, **fields)


A, B, C = made("a"), made("b", "a"), made("c", "b")


@pytest.mark.parametrize("given", [*itertools.permutations((A, B, C))])
def test_of_releases_of_one_second_a_child_is_newer_than_its_parent(given: tuple[Any, ...]) -> None:
    assert [one.id for one in lineage.newest_first(given)] == ["c", "b", "a"]


def test_a_child_dated_by_a_clock_that_was_behind_is_newer_all_the_same() -> None:
    early, late = "2026-01-01T00:00:00+00:00", "2026-02-01T00:00:00+00:00"
    known = (made("a", created=late), made("b", "a", created=early), made("other", created="2026-01-15"))
    assert [one.id for one in lineage.newest_first(known)] == ["b", "a", "other"]


def test_releases_that_name_each_other_as_parent_are_told_once_each() -> None:
    one, two = made("one", "two"), made("two", "one")
    assert [release.id for release in lineage.line_of((one, two), one)] == ["one", "two"]
    assert {release.id for release in lineage.newest_first((one, two))} == {"one", "two"}
    assert lineage.fit((one, two), one) == one


def test_the_way_back_goes_past_what_failed_and_what_never_fully_ran() -> None:
    failed, unfinished = B._replace(verdict="failed"), C._replace(unfinished=True)
    known = (A, failed, unfinished)
    assert lineage.fit(known, unfinished) == A
    assert lineage.passed_over(known, unfinished, A) == [unfinished, failed]
    assert lineage.passed_over(known, unfinished, made("elsewhere")) == []


@pytest.mark.parametrize("verdict", ["adopted", "proven", "unproven"])
def test_what_ran_to_its_end_is_fit_whether_it_was_measured_or_not(verdict: str) -> None:
    here = B._replace(verdict=verdict)
    assert lineage.fit((A, here), here) == here


def test_where_nothing_is_fit_the_nearest_is_left_and_its_fault_known() -> None:
    first, second = A._replace(unfinished=True), B._replace(verdict="failed")
    assert lineage.fit((first, second), second) == second
    assert lineage.amiss(second) == lineage.FAILED
    assert lineage.amiss(first) == lineage.NEVER_RAN
