"""The fuzzers for a while, and that each of them would find what it looks for."""

from __future__ import annotations

import random
import secrets
import time
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import pytest

from tests.fuzz import fuzzing
from tests.fuzz.fuzzing import FuzzFailure, Target, case_of, fuzz
from tests.fuzz.targets import MODULES, target

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = pytest.mark.real


@pytest.mark.parametrize("name", sorted(MODULES))
def test_the_same_cases_hold_each_time(name: str) -> None:
    cases = 15 if name == "script" else 150
    assert fuzz(name, target(name), seed="ci", seconds=60, cases=cases).cases == cases


@pytest.mark.heavy
@pytest.mark.parametrize("name", sorted(MODULES))
def test_a_minute_of_new_cases_holds(name: str) -> None:
    assert fuzz(name, target(name), seed=secrets.token_hex(4), seconds=60).cases > 100


@pytest.mark.parametrize("name", sorted(MODULES))
def test_a_case_is_its_seed_and_number(name: str) -> None:
    assert case_of(target(name), "a", 7) == case_of(target(name), "a", 7)
    assert case_of(target(name), "a", 7) != case_of(target(name), "a", 8)


def broken(hold: Callable[[int], None]) -> Target:
    return cast("Target", SimpleNamespace(case=lambda rng: rng.randrange(10), hold=hold))


def at_fault(case: Any) -> None:
    assert case != 3, "three"


def asleep(case: Any) -> None:
    while case == 3:
        time.sleep(0.01)


def busy(case: Any) -> None:
    while case == 3:
        pass


def test_a_law_that_breaks_says_how_to_see_it_again() -> None:
    with pytest.raises(FuzzFailure, match="three") as caught:
        fuzz("it", broken(at_fault), seed="s", seconds=60)
    replay = str(caught.value).splitlines()[-2]
    assert replay.startswith("replay: python -m tests.fuzz --target it --seed s --case ")
    assert random.Random(f"s:{replay.split()[-1]}").randrange(10) == 3


@pytest.mark.parametrize(("limit", "hung"), [("CASE_S", asleep), ("CPU_S", busy)])
def test_a_case_that_hangs_is_ended(
    limit: str, hung: Callable[[int], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fuzzing, limit, 0.2)
    with pytest.raises(FuzzFailure, match="Hung: more than"):
        fuzz("it", broken(hung), seed="s", seconds=60)
