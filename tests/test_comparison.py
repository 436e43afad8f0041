"""What one look says of every declared flag: a row each, and whether all of it is known to hold."""

from __future__ import annotations

from typing import Any

import pytest

from runbook import comparison
from runbook.model import Flag
from tests.building import host, observation, script, unit_state

SECRET = Flag("SGLANG_API_KEY", "sesame", "a reason", ("decode",))


def of(environ: dict[str, str], flag: Flag = SECRET, **written: str) -> comparison.Comparison:
    """One flag of decode, with what its script exports and what its process runs with."""
    seen = observation(
        decode=script(**written), units={"decode.service": unit_state("decode.service", environ)}
    )
    return comparison.of(host(flags=(flag,)), seen)


@pytest.mark.parametrize(
    ("written", "running", "outcome"),
    [("1", "1", "pass"), ("0", "1", "fail"), ("1", "0", "fail"), ("0", "0", "fail")],
)
def test_it_holds_where_file_and_process_are_as_declared(written: str, running: str, outcome: str) -> None:
    found = of({"A": running}, Flag("A", "1", "a reason", ("decode",)), A=written)
    assert [row["outcome"] for row in found.rows] == [outcome]
    assert found.holds is (outcome == "pass")


def test_a_process_nobody_can_read_never_holds() -> None:
    seen: dict[str, Any] = {"decode.service": unit_state("decode.service", kind="unknown")}
    flag = Flag("A", "1", "a reason", ("decode",))
    found = comparison.of(host(flags=(flag,)), observation(decode=script(A="1"), units=seen))
    assert [row["outcome"] for row in found.rows] == ["inconclusive"]
    assert not found.holds


def test_a_secret_stands_in_no_row() -> None:
    (row,) = of({"SGLANG_API_KEY": "mellon"}, SGLANG_API_KEY="sesame").rows
    assert (row["wanted"], row["file"], row["running"]) == ("***", "***", "***")
    assert "sesame" not in str(row)
