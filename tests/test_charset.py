from __future__ import annotations

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runbook import charset


@pytest.mark.parametrize(
    ("environ", "terminal", "unicode"),
    [
        ({"LC_ALL": "C"}, True, False),
        ({"LC_ALL": "C"}, False, False),
        ({"LC_ALL": "C", "LANG": "en_US.UTF-8"}, True, False),
        ({"LC_ALL": "", "LANG": "en_US.UTF-8"}, True, True),
        ({"LC_CTYPE": "C.utf8"}, True, True),
        ({"LANG": "de_DE.ISO-8859-1"}, True, False),
        ({}, True, False),
        ({}, False, True),
    ],
)
def test_the_locale_says_what_a_terminal_can_show(
    environ: dict[str, str], terminal: bool, unicode: bool
) -> None:
    assert charset.is_unicode(environ, terminal=terminal) is unicode


def test_our_own_signs_have_stand_ins_and_others_keep_their_number() -> None:
    assert charset.spelled_out("✓ 3 × 5 … “漢”") == 'ok 3 x 5 ... "\\u6f22"'


@given(st.text())
def test_nothing_is_ever_lost_or_raised(text: str) -> None:
    spelled = charset.spelled_out(text)
    assert spelled.isascii()
    assert len(spelled) >= len([char for char in text if char.isascii()])


@given(st.text(st.characters(codec=None)))
def test_a_settled_stream_takes_any_text(text: str) -> None:
    stream = io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
    charset.settle(stream, {"LC_ALL": "C"})
    stream.write(text)
    stream.flush()
    assert stream.encoding == "ascii"
