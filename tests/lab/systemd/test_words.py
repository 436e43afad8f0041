from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runbook.lab.systemd.words import format_span, is_assignment, parse_boolean, parse_span, split_words


@pytest.mark.parametrize(
    ("text", "want"),
    [
        ("", ()),
        ("  a   b ", ("a", "b")),
        ("'a b' \"c d\"", ("a b", "c d")),
        ("a'b c'd", ("ab cd",)),
        (r"a\ b \x\n", ("a b", "x\n")),
        ("''", ("",)),
        ('"it\'s"', ("it's",)),
        (r'"a \" b"', ('a " b',)),
    ],
)
def test_words_are_split_as_systemd_splits_them(text: str, want: tuple[str, ...]) -> None:
    assert split_words(text) == want


@pytest.mark.parametrize("text", ["'a", 'a "b', "x '"])
def test_an_open_quote_is_an_error(text: str) -> None:
    with pytest.raises(ValueError, match="unbalanced"):
        split_words(text)


@given(st.lists(st.text(st.characters(blacklist_categories=["Cs"]), min_size=1), max_size=5))
def test_quoted_words_come_back(words: list[str]) -> None:
    quoted = " ".join('"{}"'.format(word.replace("\\", "\\\\").replace('"', '\\"')) for word in words)
    assert split_words(quoted) == tuple(words)


@pytest.mark.parametrize(
    ("text", "seconds", "shown"),
    [
        ("90", 90.0, "1min 30s"),
        ("1min 30s", 90.0, "1min 30s"),
        ("500ms", 0.5, "500ms"),
        ("0", 0.0, "0"),
        ("2h 5us", 7200.000005, "2h 5us"),
        ("1.5s", 1.5, "1s 500ms"),
        ("1d", 86400.0, "1d"),
        ("infinity", float("inf"), "infinity"),
    ],
)
def test_time_spans(text: str, seconds: float, shown: str) -> None:
    assert parse_span(text) == pytest.approx(seconds)
    assert format_span(parse_span(text)) == shown


@pytest.mark.parametrize("text", ["", "soon", "5 parsecs", "-5", "5s x", "1..5"])
def test_what_is_no_time_span_is_an_error(text: str) -> None:
    with pytest.raises(ValueError, match="time span"):
        parse_span(text)


@given(st.integers(min_value=0, max_value=10**12))
def test_a_time_span_survives_being_shown(us: int) -> None:
    assert round(parse_span(format_span(us / 1_000_000)) * 1_000_000) == us


def test_booleans() -> None:
    assert [parse_boolean(text) for text in ("yes", "TRUE", "1", "no", "off", "0")] == [True] * 3 + [
        False
    ] * 3
    with pytest.raises(ValueError, match="not a boolean"):
        parse_boolean("perhaps")


def test_what_an_assignment_is() -> None:
    assert [
        text for text in ("A=1", "_a9=", "1A=x", "export A=1", "Ä=1", "A", "=") if is_assignment(text)
    ] == [
        "A=1",
        "_a9=",
    ]
