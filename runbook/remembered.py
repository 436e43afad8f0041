"""The plan of a deploy; one that changes nothing is remembered, and nothing that goes into it need be read again.

The rooms that read scripts and units take as long to load as logging in does. A plan is a pure function of the host file
and of the look it was made from, so what these very values once came to is what they come to. Kept in the user's cache are
only plans that do nothing, sealed with what they were made from.
"""

from __future__ import annotations

import functools
import hashlib
import math
import os
import pickle
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from runbook import usercache

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from runbook.model import Host, Observation, UnitState
    from runbook.plan import Plan

MOST = 64
_NONCE_BYTES = 12
_MODULES = (
    *(
        "errors",
        "kinds",
        "model",
        "observation",
        "plan",
        "planning",
        "remembered",
        "restarts",
        "shipped",
        "text",
    ),
    *("onhost/listing", "onhost/masking"),
)
_PACKAGE = Path(__file__).parent


def deploy(host: Host, seen: Observation, *, cache: Path | None = None) -> Plan:
    """The plan that makes `seen` what `host` says; raises MissingOnHostError, EditRefusedError."""
    basis = _basis(seen)
    made_from = pickle.dumps((_code_stamp(), host, basis))
    name, key = hashlib.sha256(b"name" + made_from).hexdigest(), hashlib.sha256(b"key" + made_from).digest()
    path = (cache or usercache.directory() / "plans") / f"{name}.sealed"
    kept = _opened(usercache.read(path), key)
    if kept is not None:
        return kept
    from runbook import planning  # here, since what is remembered need not be made

    plan = planning.deploy(host, basis)
    if plan.empty:
        usercache.keep(path, _sealed(plan, key), most=MOST)
    return plan


def _sealed(plan: Plan, key: bytes) -> bytes:
    """A plan that only who has what it was made from can read: scripts hold secrets that no name gives away."""
    nonce = os.urandom(_NONCE_BYTES)
    return nonce + AESGCM(key).encrypt(nonce, pickle.dumps(plan), None)


def _opened(content: bytes | None, key: bytes) -> Plan | None:
    """The plan that was sealed with this key; None where there is none, or where a bit of it is another."""
    if content is None:
        return None
    try:
        opened = AESGCM(key).decrypt(content[:_NONCE_BYTES], content[_NONCE_BYTES:], None)
    except (InvalidTag, ValueError):
        return None
    plan: Plan = pickle.loads(opened)
    return plan


def _basis(seen: Observation) -> Observation:
    """What a plan is made of. All else of a look is left out, so that no plan can come to depend on it unnoticed."""
    changed = [file.ctime_ns / 1e9 for file in (*seen.files.values(), *seen.feeds.values())]
    return seen._replace(
        units={name: _settled(state, changed) for name, state in seen.units.items()},
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


def _settled(state: UnitState, changed: Sequence[float]) -> UnitState:
    """When a process started is told a hundredth of a second earlier or later each time; it is rounded where no file
    changed that soon after."""
    exact = state.processes.started_at
    started_at = math.ceil(exact * 10) / 10
    if any(exact < at <= started_at for at in changed):
        return state
    return state._replace(processes=state.processes._replace(started_at=started_at))


@functools.cache
def _code_stamp() -> bytes:
    """What this process plans with. Taken once: the files may become another version's while it runs."""
    return b"".join((sys.version.encode(), *usercache.stamps(_code())))


def _code() -> Iterator[Path]:
    """The code that plans, and what it is installed beside: another shell parser may read a script differently."""
    for name in _MODULES:
        yield _PACKAGE / f"{name}.py"
    for room in ("edits", "places"):
        yield from sorted((_PACKAGE / room).rglob("*.py"))
    beside = Path(sys.executable).parent
    yield beside
    for parser in ("shfmt", "bash"):  # one written over in place, one that PATH now finds or misses
        found = shutil.which(parser, path=f"{beside}{os.pathsep}{os.environ.get('PATH', os.defpath)}")
        if found:
            yield Path(found)
