"""How a service unit changes: an event in, a new state and actions out, nothing touched.

Follows systemd's src/core/service.c (v252) for Type=simple, exec and oneshot.
"""

from __future__ import annotations

import signal
from dataclasses import dataclass, field, replace
from typing import Literal

from runbook.lab.systemd.exits import describe_exit, verdict_of, wants_restart
from runbook.lab.systemd.service import (
    Action,
    Asked,
    Elapsed,
    Emptied,
    Event,
    Executed,
    Finish,
    Kill,
    Log,
    MainExited,
    Moment,
    ResetFailed,
    Service,
    Spawn,
    Spawned,
    Unprepared,
    Verb,
    Wait,
)


@dataclass(slots=True)
class _Turn:
    """One event being worked off: the state so far and the actions so far."""

    service: Service
    at: Moment
    actions: list[Action] = field(default_factory=list)

    def set(self, **changes: object) -> None:
        before = self.service.sub
        self.service = replace(self.service, **changes)  # type: ignore[arg-type]
        if self.service.sub != before:
            self.service = replace(self.service, changed_us=self.at.us)

    def do(self, *actions: Action) -> None:
        self.actions.extend(actions)

    def log(self, text: str) -> None:
        self.do(Log(f"{self.service.unit.name}: {text}"))

    def finish(self, result: str) -> None:
        if self.service.job:
            self.set(job=None)
            self.do(Finish(result))


def step(service: Service, event: Event, at: Moment) -> tuple[Service, tuple[Action, ...]]:
    """The state after an event, and what must be done about it, in order."""
    turn = _Turn(service, at)
    match event:
        case Asked(verb):
            _asked(turn, verb)
        case ResetFailed():
            _reset_failed(turn)
        case Unprepared():
            turn.set(exec_start_us=0, alive=False)
            _enter_dead(turn, "resources", may_restart=True)
        case Spawned(pid):
            _spawned(turn, pid)
        case Executed():
            _executed(turn)
        case MainExited():
            _main_exited(turn, event)
        case Emptied():
            _emptied(turn)
        case Elapsed():
            _elapsed(turn)
    return turn.service, tuple(turn.actions)


# ------------------------------------------------------------------ jobs


def _asked(turn: _Turn, verb: Verb) -> None:
    turn.set(job=verb)
    if turn.service.active == "deactivating":
        # A start goes on when nothing is left of the old activation, which is what a restart does.
        turn.set(stopping=verb == "stop", job="stop" if verb == "stop" else "restart")
        return
    if verb == "start":
        _begin_start(turn)
    elif verb == "stop":
        turn.set(stopping=True)
        _begin_stop(turn)
    elif turn.service.sub in ("running", "start", "exited"):
        _begin_stop(turn)
    else:
        _begin_start(turn)


def _begin_start(turn: _Turn) -> None:
    if turn.service.sub in ("running", "exited"):
        turn.finish("done")
        return
    if turn.service.sub == "start":
        return
    if turn.service.job:
        turn.set(job="start")  # of a restart only the start is left
    if _too_often(turn):
        turn.set(stopping=False)
        turn.log("Start request repeated too quickly.")
        _enter_dead(turn, "start-limit-hit", may_restart=False)
        return
    _start(turn)


def _too_often(turn: _Turn) -> bool:
    unit = turn.service.unit
    since = turn.at.us - unit.interval_s * 1_000_000
    recent = tuple(at for at in turn.service.starts if at > since)
    limited = unit.burst > 0 and unit.interval_s > 0 and len(recent) >= unit.burst
    turn.set(starts=recent if limited else (*recent, turn.at.us))
    return limited


def _start(turn: _Turn) -> None:
    if turn.service.forget_restarts:
        turn.set(n_restarts=0)
    turn.set(
        sub="start",
        result="success",
        invocation=turn.at.fresh_id,
        forget_restarts=False,
        stopping=False,
        alive=True,
        main_pid=0,
        exec_pid=0,
        exec_code=0,
        exec_status=0,
        exec_exit_us=0,
        exec_start_us=turn.at.us,
    )
    if turn.service.unit.type != "simple":
        turn.do(Log(f"Starting {turn.service.unit.title}..."))
    turn.do(Wait(None), Spawn())


def _started(turn: _Turn, sub: str) -> None:
    turn.set(sub=sub)
    turn.do(Wait(None), Log(f"Started {turn.service.unit.title}."))
    turn.finish("done")


def _begin_stop(turn: _Turn) -> None:
    service = turn.service
    if service.sub in ("dead", "failed", "auto-restart"):
        turn.do(Wait(None))
        if service.sub == "auto-restart":
            turn.set(sub="dead", forget_restarts=True)
            turn.do(Log(f"Stopped {service.unit.title}."))
        turn.finish("done")
        return
    turn.do(Log(f"Stopping {service.unit.title}..."))
    _enter_sigterm(turn)


def _reset_failed(turn: _Turn) -> None:
    turn.set(result="success", n_restarts=0, starts=())
    if turn.service.sub == "failed":
        turn.set(sub="dead")


# ------------------------------------------------------------------ processes


def _spawned(turn: _Turn, pid: int) -> None:
    turn.set(main_pid=pid, exec_pid=pid, exec_start_us=turn.at.us)
    if turn.service.sub == "start" and turn.service.unit.type == "simple":
        _started(turn, "running")


def _executed(turn: _Turn) -> None:
    if turn.service.sub == "start" and turn.service.unit.type == "exec":
        _started(turn, "running")


def _main_exited(turn: _Turn, event: MainExited) -> None:
    verdict = verdict_of(turn.service.unit, event)
    turn.set(
        main_pid=0,
        exec_code=event.code,
        exec_status=event.status,
        exec_exit_us=turn.at.us,
        alive=not event.empty,
    )
    if verdict != "success":
        turn.log(f"Main process exited, {describe_exit(event.code, event.status)}")
    if turn.service.sub in ("start", "running"):
        _fell(turn, verdict)
    else:
        _note_result(turn, verdict)
        _main_gone_while_stopping(turn)


def _fell(turn: _Turn, verdict: str) -> None:
    """The main process ended by itself: what is left of the unit goes too, then it is dead."""
    unit = turn.service.unit
    if unit.type == "oneshot" and verdict == "success" and unit.remain_after_exit:
        _started(turn, "exited")
        return
    if unit.type == "oneshot" and verdict == "success":
        turn.finish("done")
    _note_result(turn, verdict)
    if turn.service.alive and unit.kill_mode in ("control-group", "mixed"):
        _enter_sigterm(turn)
    else:
        _enter_dead(turn, verdict, may_restart=True)


def _main_gone_while_stopping(turn: _Turn) -> None:
    if not turn.service.alive or turn.service.unit.kill_mode in ("process", "none"):
        _enter_dead(turn, "success", may_restart=True)
    elif turn.service.sub == "stop-sigterm" and turn.service.unit.kill_mode == "mixed":
        _enter_sigkill(turn, "stop-sigkill")
    elif turn.service.sub == "stop-sigterm":
        turn.set(sub="final-sigterm")
        turn.do(Kill(signal.SIGTERM, "all"), Wait(turn.service.unit.stop_s))


def _emptied(turn: _Turn) -> None:
    turn.set(alive=False)
    if turn.service.active == "deactivating" and not turn.service.main_pid:
        _enter_dead(turn, "success", may_restart=True)


def _enter_sigterm(turn: _Turn) -> None:
    unit = turn.service.unit
    turn.set(sub="stop-sigterm")
    if unit.kill_mode == "none" or not turn.service.alive:
        _enter_dead(turn, "success", may_restart=False)
        return
    who: Literal["main", "all"] = "all" if unit.kill_mode == "control-group" else "main"
    turn.do(Kill(signal.SIGTERM, who), Wait(unit.stop_s))


def _enter_sigkill(turn: _Turn, sub: str) -> None:
    turn.set(sub=sub)
    who: Literal["main", "all"] = "main" if turn.service.unit.kill_mode == "process" else "all"
    turn.do(Kill(signal.SIGKILL, who), Wait(turn.service.unit.stop_s))


def _elapsed(turn: _Turn) -> None:
    service = turn.service
    if service.sub == "auto-restart":
        turn.set(n_restarts=service.n_restarts + 1)
        turn.log(f"Scheduled restart job, restart counter is at {service.n_restarts + 1}.")
        turn.do(Log(f"Stopped {service.unit.title}."))
        _begin_start(turn)
    elif service.sub in ("stop-sigterm", "final-sigterm"):
        turn.log(f"State '{service.sub}' timed out. Killing.")
        _note_result(turn, "timeout")
        _enter_sigkill(turn, service.sub.replace("sigterm", "sigkill"))
    elif service.active == "deactivating":
        turn.log("Processes still around after SIGKILL. Ignoring.")
        _enter_dead(turn, "timeout", may_restart=True)


# ------------------------------------------------------------------ ends


def _note_result(turn: _Turn, result: str) -> None:
    """The first bad result stays."""
    if turn.service.result == "success":
        turn.set(result=result)


def _enter_dead(turn: _Turn, result: str, *, may_restart: bool) -> None:
    _note_result(turn, result)
    service = turn.service
    failed = service.result != "success"
    turn.log(f"Failed with result '{service.result}'." if failed else "Deactivated successfully.")
    turn.set(sub="failed" if failed else "dead", main_pid=0)
    turn.do(Wait(None))
    if may_restart and service.job in (None, "start") and not service.stopping and wants_restart(service):
        turn.set(sub="auto-restart")
        turn.do(Wait(service.unit.restart_s))
    else:
        turn.set(forget_restarts=True)
    _settle_job(turn)


def _settle_job(turn: _Turn) -> None:
    """A stop is done, a restart goes on with its start, a start has failed."""
    job, title = turn.service.job, turn.service.unit.title
    if job == "start":
        turn.do(Log(f"Failed to start {title}."))
        turn.finish("failed")
    elif job:
        turn.do(Log(f"Stopped {title}."))
        if job == "stop":
            turn.finish("done")
        else:
            _begin_start(turn)
