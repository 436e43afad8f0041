from __future__ import annotations

import html.parser
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runbook import report
from runbook.report import curves
from tests.report.made import HOSTILE, record

if TYPE_CHECKING:
    from collections.abc import Iterator

# matplotlib asks fontconfig for the fonts there are when it is loaded for the first time.
pytestmark = pytest.mark.real


class Reader(html.parser.HTMLParser):
    """Reads a page as a browser would: which elements it has, what they refer to, and the text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: set[str] = set()
        self.references: list[str] = []
        self.handlers: list[str] = []
        self.words = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.elements.add(tag)
        for name, value in attributes:
            if name in ("src", "href", "xlink:href", "action", "data", "srcset"):
                self.references.append(value or "")
            if name.startswith("on"):
                self.handlers.append(name)

    def handle_data(self, data: str) -> None:
        self.words += data


def test_every_section_of_a_record_stands_on_the_page() -> None:
    words = Reader(report.html(record("word"), chain="3 records")).words
    for said in (
        "deploy word", "2026-11-30 07:41:29 UTC", "62 s", "To go back: ./invoke rollback --host word --to r1",
        "What did not pass",
        "Steps", "What changed", "on the way back", "as the rollout left them", "Correctness under load", "98.00%",
        "no regression beyond 7.5%", "Probes", "Environment", "Calls", "ab" * 32, "3 records",
    ):  # fmt: skip
        assert said in words, said


def test_text_of_a_host_is_only_ever_text() -> None:
    seen = Reader(report.html(record(HOSTILE)))
    assert not seen.elements & {"script", "img", "iframe", "object", "link", "form", "a"}
    assert seen.handlers == []
    assert "<script>alert(1)</script>" in seen.words
    assert "{{ 7*7 }}" in seen.words
    assert "\x1b" not in seen.words


def test_the_page_is_ascii_and_reads_as_what_was_written() -> None:
    text = report.html(record("｜DSML｜ ü 漢 \U0001f600"))
    assert text.isascii()
    assert "｜DSML｜ ü 漢 \U0001f600" in Reader(text).words


def test_the_page_refers_to_nothing_outside_itself() -> None:
    text = report.html(record("word"))
    assert all(reference.startswith("#") for reference in Reader(text).references)
    assert "default-src 'none'" in text
    assert "url(http" not in text
    assert "@import" not in text


def test_curves_take_their_colours_from_the_page_and_their_ids_are_their_own() -> None:
    text = report.html(record("word"))
    assert text.count("<svg") == 4
    assert "#0102" not in text
    for variable in ("--ink", "--before", "--after", "--fail"):
        assert f"var({variable})" in text
    ids = [part.split('"')[0] for part in text.split(' id="')[1:]]
    assert len(ids) == len(set(ids))


@pytest.mark.parametrize(
    ("end", "colour"),
    [
        ("maxrounds", "pass"),
        ("refused", "warn"),
        ("streamerror", "warn"),
        ("notool", "warn"),
        ("leak", "fail"),
    ],
)
def test_only_a_corrupt_end_has_the_colour_of_corruption(end: str, colour: str) -> None:
    drawn = curves.of_course(
        {"name": "v", "counts": {end: 3}, "over_time": [{"at_s": 1, "counts": {end: 2}}]}
    )
    assert drawn is not None
    assert [name for name in ("pass", "warn", "fail") if f"var(--{name})" in drawn] == [colour]


def test_a_run_that_ended_in_a_thousand_ways_has_one_drawing_with_the_rest_as_one() -> None:
    ends = {f"end {number}": 1 for number in range(1000)}
    run = {"name": "v", "counts": ends, "over_time": [{"at_s": 1, "counts": ends}]}
    drawn = curves.of_course(run)
    assert drawn is not None
    assert "others" in drawn
    assert len(drawn) < 100_000


def test_without_matplotlib_the_page_says_so_and_keeps_its_tables(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(curves, "available", lambda: False)
    text = report.html(record("word"))
    assert "<svg" not in text
    assert "matplotlib is not installed" in text
    assert "no regression beyond" in text


@pytest.mark.parametrize("fields", [{"action": "verify"}, {"action": "plan"}])
def test_a_plan_that_was_not_carried_out_is_told_as_one(fields: dict[str, Any]) -> None:
    words = Reader(report.html(record("word", **fields))).words
    assert "What a deploy would change" in words
    assert "To go back" not in words


def test_a_rollout_that_was_rolled_back_says_so_first_and_offers_no_way_back() -> None:
    words = Reader(report.html(record("word", rolled_back_to="r1"))).words
    assert "deploy word, rolled back to r1" in words
    assert "To go back" not in words


Path = tuple[str | int, ...]


def paths(value: Any, here: Path = ()) -> Iterator[Path]:
    """Every place in a record, from the outside in."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, one in inner:
        yield (*here, key)
        yield from paths(one, (*here, key))


def replace(found: Any, path: Path, value: Any) -> None:
    for key in path[:-1]:
        found = found[key]
    found[path[-1]] = value


PATHS = sorted(paths(record("word")), key=str)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)


@settings(max_examples=25)  # each draws, which takes a fifth of a second
@given(st.sampled_from(PATHS), json_values)
def test_a_record_that_somebody_touched_anywhere_still_has_a_page_and_a_summary(
    path: Path, value: Any
) -> None:
    touched = record("word")
    replace(touched, path, value)
    drawn = {"validations", "bench"} - {path[0]}
    text = report.html(touched | dict.fromkeys(drawn))
    assert "<h1>" in text
    assert report.markdown(touched).startswith("**")


@pytest.mark.parametrize("value", [None, "text", [None], {"a": 1}, float("nan"), 10**400])
@pytest.mark.parametrize(
    "key", ["validations", "bench", "steps", "plan", "flags", "facts", "calls", "programs", "findings"]
)
def test_a_section_that_is_something_else_is_left_out(key: str, value: Any) -> None:
    assert "<h1>" in report.html(record("word") | {"validations": [], "bench": None} | {key: value})


def test_an_empty_record_has_a_page() -> None:
    assert Reader(report.html({})).words.strip()
