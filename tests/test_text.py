from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from runbook.text import clean, one_line, sentence, short_words

if TYPE_CHECKING:
    from collections.abc import Callable


@pytest.mark.parametrize(
    ("text", "want"),
    [
        ("plain [gpu1] [/data] :smile:", "plain [gpu1] [/data] :smile:"),
        ("\x1b[31mred\x1b[0m", "�[31mred�[0m"),
        ("a\rb", "a�b"),
        ("a\r\nb", "a\nb"),
        ("tab\tstays", "tab\tstays"),
        ("\x9b2J\u202eevil", "�2J�evil"),
        ("\udc80", "�"),
        ("｜DSML｜ ü 漢", "｜DSML｜ ü 漢"),
    ],
)
def test_text_keeps_its_letters_and_loses_its_powers(text: str, want: str) -> None:
    assert clean(text) == want


@pytest.mark.parametrize(
    ("text", "want"),
    [
        ("a  b\t c", "a b c"),
        ("nothing was changed\nrelease r1 has it", "nothing was changed; release r1 has it"),
        ("to put it back:\n  invoke rollback", "to put it back: invoke rollback"),
        ("it ends.\nAnother begins", "it ends. Another begins"),
        ("one;\n\n  two,\nthree", "one; two, three"),
        ("does it?\nno", "does it? no"),
        ("a\r\nb\u2028c", "a; b; c"),
        ("\n\n a\n", "a"),
        ("", ""),
    ],
)
def test_lines_made_one_stay_apart(text: str, want: str) -> None:
    assert sentence(text) == want


def test_nothing_is_put_into_a_value() -> None:
    assert one_line("a\n b\tc") == "a b c"


@pytest.mark.parametrize("made", [one_line, sentence])
def test_a_line_is_bounded(made: Callable[[str, int], str]) -> None:
    assert made("x" * 500, 10) == "xxxxxxxxx…"


def test_of_a_command_long_words_are_cut_and_all_are_there() -> None:
    assert short_words("show --property=A,B,C,D -- a.service", 12) == "show --property=… -- a.service"
    assert short_words("") == ""
