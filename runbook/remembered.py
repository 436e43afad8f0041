"""The plan of a deploy; one that changes nothing is remembered, and nothing that goes into it need be read again.

The rooms that read scripts and units take as long to load as logging in does. A plan is a pure function of the host file
and of the look it was made from, so what these very values once came to is what they come to. Kept in the user's cache are
only plans that do nothing and show no secret.
"""

from __future__ import annotations

import hashlib
import math
import pickle
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from runbook import usercache
from runbook.onhost.masking import is_secret
from runbook.plan import Plan

if TYPE_CHECKING:
    from collections.abc import Iterator

    from runbook.model import Host, Observation, UnitState

MOST = 64
_PACKAGE = Path(__file__).parent


def deploy(host: Host, seen: Observation, *, cache: Path | None = None) -> Plan:
    """The plan that makes `seen` what `host` says; raises MissingOnHostError, EditRefusedError."""
    basis = _basis(seen)
    path = (cache or usercache.directory() / "plans") / f"{_key(host, basis)}.pickle"
    kept = usercache.unpickled(path, Plan)
    if kept is not None:
        return kept
    from runbook import planning  # here, since what is remembered need not be made

    plan = planning.deploy(host, basis)
    if plan.empty and not _secretive(plan):
        usercache.keep(path, pickle.dumps(plan), most=MOST)
    return plan


def _secretive(plan: Plan) -> bool:
    names = {told.flag for told in plan.places}.union(*plan.wanted.values())
    return any(map(is_secret, names))


def _basis(seen: Observation) -> Observation:
    """What a plan is made of. All else of a look is left out, so that no plan can come to depend on it unnoticed."""
    return seen._replace(
        units={name: _settled(state) for name, state in seen.units.items()},
        facts={},
        releases=(),
        current=None,
        inflight=None,
        lock_holder=None,
        free_bytes=0,
        free_inodes=0,
        read_only=(),
        now=0.0,
        damaged=(),
    )


def _settled(state: UnitState) -> UnitState:
    """When a process started is told a hundredth of a second earlier or later each time; no file is edited that soon."""
    started_at = math.ceil(state.processes.started_at * 10) / 10
    return state._replace(processes=state.processes._replace(started_at=started_at))


def _key(host: Host, basis: Observation) -> str:
    digest = hashlib.sha256(pickle.dumps((sys.version, host, basis)))
    for stamp in usercache.stamps(_code()):
        digest.update(stamp)
    return digest.hexdigest()


def _code() -> Iterator[Path]:
    """The code that plans, and what it is installed beside: another shell parser may read a script differently."""
    for name in ("kinds", "model", "plan", "planning", "remembered", "restarts", "text", "onhost/masking"):
        yield _PACKAGE / f"{name}.py"
    for room in ("edits", "places"):
        yield from sorted((_PACKAGE / room).rglob("*.py"))
    yield Path(sys.executable).parent
