"""Where no hosts can be booted, one plain sentence says why."""

from __future__ import annotations

import pytest

from tests.system import requirements


@pytest.mark.parametrize(
    ("platform", "uid", "reason"), [("darwin", 0, "needs Linux"), ("linux", 1000, "needs root")]
)
def test_what_is_missing_is_said_in_one_sentence(platform: str, uid: int, reason: str) -> None:
    said = requirements.obstacle(platform, uid)
    assert said is not None
    assert said.endswith(reason)
    assert "\n" not in said


def test_missing_programs_are_named_with_the_packages_that_bring_them() -> None:
    assert requirements.lacking(["debootstrap", "ip", "ssh-keygen"]) == (
        "booting Debian hosts needs programs that are not installed: debootstrap, ip, ssh-keygen "
        "(apt-get install debootstrap iproute2)"
    )


def test_only_a_demand_makes_a_missing_host_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("RUNBOOK_REQUIRE_SYSTEM", raising=False)
    assert not requirements.demanded()
    monkeypatch.setenv("RUNBOOK_REQUIRE_SYSTEM", "1")
    assert requirements.demanded()
