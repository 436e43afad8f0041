"""How a command of the load generator ends."""

from __future__ import annotations

import pytest

from runbook.load.ending import ClientDiedError, exit_code
from runbook.load.outcome import Outcome
from runbook.load.preflight import PreflightFailed
from runbook.load.refusing import BadArgumentsError


@pytest.mark.parametrize(
    ("outcome", "code"),
    [(Outcome.PASS, 0), (Outcome.FAIL, 1), (Outcome.ERROR, 2), (Outcome.INCONCLUSIVE, 3)],
)
def test_every_outcome_has_its_code_and_nothing_is_added(
    outcome: Outcome, code: int, capsys: pytest.CaptureFixture[str]
) -> None:
    assert exit_code(lambda: outcome) == code
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("error", "code", "said"),
    [
        (BadArgumentsError("--rounds: no"), 2, "--rounds: no"),
        (PreflightFailed("no such model", 2), 2, "no such model"),
        (PreflightFailed("nobody there", 3), 3, "nobody there"),
        (ClientDiedError("one died"), 3, "one died"),
        (KeyboardInterrupt(), 3, "interrupted, nothing is concluded"),
    ],
)
def test_what_comes_to_nothing_is_one_line(
    error: BaseException, code: int, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    def command() -> Outcome:
        raise error

    assert exit_code(command, BadArgumentsError) == code
    assert capsys.readouterr() == ("", f"{said}\n")


def test_a_defect_stays_one() -> None:
    def command() -> Outcome:
        raise ValueError("of ours")

    with pytest.raises(ValueError, match="of ours"):
        exit_code(command, BadArgumentsError)
