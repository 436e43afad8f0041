from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runbook.model import Change

OLD = b"export A=1\nexport HF_TOKEN='old\nsecret'\nexec x\n"


def test_a_changed_secret_is_a_change_that_shows_neither_value() -> None:
    diff = Change("/s", OLD, OLD.replace(b"old", b"new")).diff()
    assert "-export HF_TOKEN=***\n" in diff
    assert "+export HF_TOKEN=***\n" in diff
    assert not {"old", "new", "secret"} & set(diff.replace("'", " ").split())


def test_a_secret_of_several_lines_beside_a_change_is_not_shown() -> None:
    diff = Change("/s", OLD, OLD.replace(b"A=1", b"A=2")).diff()
    assert "-export A=1\n+export A=2\n" in diff
    assert "secret" not in diff


def test_a_last_line_without_its_end_says_so() -> None:
    assert Change("/s", b"a", b"b").diff() == (
        "--- /s\n+++ /s\n@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+b\n\\ No newline at end of file\n"
    )


@pytest.mark.parametrize(("before", "after"), [(None, b""), (b"\0\r\n\xff", b"\0\r\n\xfe\n")])
def test_any_bytes_can_be_shown(before: bytes | None, after: bytes) -> None:
    Change("/s", before, after).diff()


@given(st.binary(), st.binary())
def test_every_pair_of_contents_has_a_diff(before: bytes, after: bytes) -> None:
    assert bool(Change("/s", before, after).diff()) <= (before != after)
