"""Where what comes along is found; tests/compatibility holds the same of a wheel."""

from __future__ import annotations

from pathlib import Path

import pytest

from runbook import shipped

CHECKOUT = Path(__file__).parents[1]


@pytest.mark.parametrize(
    "name", ["hosts/example.yml", "hosts/lab.yml", "hosts/profiles", "templates", "tasks.py"]
)
def test_a_checkout_has_it_beside_the_package(name: str) -> None:
    assert shipped.path(name) == CHECKOUT / name
    assert shipped.path(name).exists()
    assert shipped.shown(name) == name


def test_a_checkout_is_worked_with_by_its_wrapper() -> None:
    assert not shipped.is_installed()
    assert (CHECKOUT / shipped.command()).is_file()
