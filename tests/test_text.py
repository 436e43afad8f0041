from __future__ import annotations

import pytest

from runbook.text import clean, one_line, short_words


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


def test_one_line_is_one_line_and_bounded() -> None:
    assert one_line("a\n b\t c") == "a b c"
    assert one_line("x" * 500, 10) == "xxxxxxxxx…"


def test_of_a_command_long_words_are_cut_and_all_are_there() -> None:
    assert short_words("show --property=A,B,C,D -- a.service", 12) == "show --property=… -- a.service"
    assert short_words("") == ""
