"""The state of one service unit as a value, what can happen to it, and what may be done about it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from runbook.lab.systemd.unitfile import UnitFile

Verb = Literal["start", "stop", "restart"]
_ACTIVE = {
    "dead": "inactive",
    "failed": "failed",
    "start": "activating",
    "auto-restart": "activating",
    "running": "active",
    "exited": "active",
}

# ------------------------------------------------------------------ what happens to a unit


@dataclass(frozen=True, slots=True)
class Asked:
    """Somebody wants a job done; it takes the place of the one in progress."""

    verb: Verb


@dataclass(frozen=True, slots=True)
class ResetFailed:
    pass


@dataclass(frozen=True, slots=True)
class Unprepared:
    """What the start needs could not be read, so nothing was started."""


@dataclass(frozen=True, slots=True)
class Spawned:
    """The main process exists; it has not yet executed its program."""

    pid: int


@dataclass(frozen=True, slots=True)
class Executed:
    """The main process runs its program."""


@dataclass(frozen=True, slots=True)
class MainExited:
    """`code` is a CLD_* constant; `empty`: no other process of the unit is left."""

    code: int
    status: int
    empty: bool


@dataclass(frozen=True, slots=True)
class Emptied:
    """No process of the unit is left."""


@dataclass(frozen=True, slots=True)
class Elapsed:
    """The timer that the last Wait action set has run out."""


Event = Asked | ResetFailed | Unprepared | Spawned | Executed | MainExited | Emptied | Elapsed

# ------------------------------------------------------------------ what is to be done about it


@dataclass(frozen=True, slots=True)
class Spawn:
    pass


@dataclass(frozen=True, slots=True)
class Kill:
    """Send a signal to the main process or to every process of the unit."""

    signal: int
    who: Literal["main", "all"]


@dataclass(frozen=True, slots=True)
class Wait:
    """Set the unit's one timer; None clears it."""

    seconds: float | None


@dataclass(frozen=True, slots=True)
class Log:
    """A line of the unit manager in the unit's journal."""

    text: str


@dataclass(frozen=True, slots=True)
class Finish:
    """The job in progress is over: done or failed."""

    result: str


Action = Spawn | Kill | Wait | Log | Finish


@dataclass(frozen=True, slots=True)
class Moment:
    """When an event happens (µs of CLOCK_MONOTONIC), and the id that a start would get."""

    us: int
    fresh_id: str = ""


@dataclass(frozen=True, slots=True)
class Service:
    """A unit's state. Times are µs of CLOCK_MONOTONIC; `starts` are those the start limit still counts."""

    unit: UnitFile
    sub: str = "dead"
    result: str = "success"
    main_pid: int = 0
    exec_pid: int = 0
    exec_code: int = 0
    exec_status: int = 0
    exec_start_us: int = 0
    exec_exit_us: int = 0
    changed_us: int = 0
    n_restarts: int = 0
    forget_restarts: bool = True
    invocation: str = ""
    starts: tuple[int, ...] = ()
    job: Verb | None = None
    stopping: bool = False
    alive: bool = False

    @property
    def active(self) -> str:
        """systemd's ActiveState."""
        return _ACTIVE.get(self.sub, "deactivating")
