"""How often a rollout waits for the host before its first restart: a round trip is the unit of cost of a far one."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from tests.fakehost import FakeHost
from tests.test_rollout import deploy, rollback


@dataclass
class Counted(FakeHost):
    """A host that keeps what each request asked for, the calls of a row in one."""

    requests: list[tuple[str, ...]] = field(default_factory=list)
    _within: bool = False

    def call(self, name: str, /, *, deadline_s: float = 60.0, **args: Any) -> Any:
        if self._within:
            return super().call(name, **args)
        self.requests.append(tuple(one["call"] for one in args["calls"]) if name == "several" else (name,))
        self._within = name == "several"
        try:
            return super().call(name, **args)
        finally:
            self._within = False

    @property
    def applied(self) -> list[tuple[str, ...]]:
        """The requests from the lock to the write."""
        lock = next(n for n, row in enumerate(self.requests) if "lock" in row)
        write = next(n for n, row in enumerate(self.requests) if "files_write" in row)
        return self.requests[lock : write + 1]


BOOK = "inflight", "inflight_step", "files_write"


def test_a_deploy_writes_its_files_with_the_fourth_request_after_the_yes_and_the_first_ever_with_the_fifth() -> (
    None
):
    fake = Counted()
    assert deploy(fake).exit_code == 0
    first, adopted = fake.applied, ("release_save", "set_current")
    assert first == [
        ("lock", "observe"),
        ("audit_place",),
        ("engine", "gpus"),
        adopted,
        ("release_mend", *BOOK, "release_save", "set_current", "inflight_step"),
    ]
    fake.lock = None
    rollback(fake)
    fake.requests.clear()
    fake.lock = None
    assert deploy(fake).exit_code == 0
    assert fake.applied == [request for request in first if request != adopted]


def test_a_rollback_writes_the_old_bytes_with_the_third_request_after_the_yes() -> None:
    fake = Counted()
    deploy(fake)
    fake.requests.clear()
    fake.lock = None
    assert rollback(fake).exit_code == 0
    assert fake.applied == [
        ("lock", "observe"),
        ("release_read",),
        (*BOOK, "set_current", "inflight_step"),
    ]


def test_the_engine_is_looked_at_while_the_service_is_asked() -> None:
    fake = Counted()
    deploy(fake)
    assert fake.used_ahead
