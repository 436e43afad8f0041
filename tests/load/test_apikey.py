from __future__ import annotations

import pytest

from runbook.load import apikey


def test_blanks_around_a_key_are_dropped() -> None:
    assert apikey.read("KEY", {"KEY": " sk-1\n"}) == "sk-1"


@pytest.mark.parametrize("found", ["", " \n", "the secret\r\nX: y", "the secret é", "the secret\x00"])
def test_what_no_header_can_carry_is_refused_without_being_quoted(found: str) -> None:
    with pytest.raises(apikey.BadKey, match="KEY ") as caught:
        apikey.read("KEY", {"KEY": found})
    assert "the secret" not in str(caught.value)
