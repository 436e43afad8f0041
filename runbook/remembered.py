"""What a look at a host comes to; where there is nothing to do it is remembered, and nothing that goes into it read again.

The rooms that read scripts and units take as long to load as logging in does. A plan and a comparison are pure functions of
the host file and of the look they are made from, so what these very values once came to is what they come to. Kept in the
user's cache are only plans that do nothing, comparisons that hold and books that are in order, sealed with what they were
made from.
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
from typing import TYPE_CHECKING, Any, TypeVar

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from runbook import usercache
from runbook.verdict import Outcome

if TYPE_CHECKING:
    import datetime
    from collections.abc import Callable, Iterator, Sequence

    from runbook.comparison import Comparison
    from runbook.model import Host, Observation, UnitState
    from runbook.plan import Plan
    from runbook.verdict import Finding

T = TypeVar("T")

MOST = 128  # two a host
_NONCE_BYTES = 12
_MODULES = (
    *(
        "argumenttable",
        "comparison",
        "errors",
        "flagtable",
        "kinds",
        "model",
        "observation",
        "plan",
        "planning",
        "remembered",
        "restarts",
        "shipped",
        "text",
        "unsaid",
        "verdict",
    ),
    *("load/outcome", "onhost/listing", "onhost/masking", "verify/bookkeeping"),
)
_PACKAGE = Path(__file__).parent


def deploy(host: Host, seen: Observation, *, cache: Path | None = None) -> Plan:
    """The plan that makes `seen` what `host` says; raises MissingOnHostError, EditRefusedError."""
    basis = _basis(seen)
    return _once("plan", (host, basis), lambda: _plan(host, basis), lambda plan: plan.empty, cache)


def comparison(host: Host, seen: Observation, *, cache: Path | None = None) -> Comparison:
    """What `seen` says of the flags and arguments that `host` declares."""
    basis = _basis(seen)
    return _once(
        "comparison", (host, basis), lambda: _compared(host, basis), lambda found: found.holds, cache
    )


def amiss(host: Host, today: datetime.date, *, cache: Path | None = None) -> tuple[Finding, ...]:
    """What the flag ledger fails in the host file alone, on this day, and flags whose names look misspelt."""
    return _once("amiss", (host, today), lambda: _amiss(host, today), lambda found: not found, cache)


def _plan(host: Host, basis: Observation) -> Plan:
    from runbook import planning  # here, since what is remembered need not be made

    return planning.deploy(host, basis)


def _compared(host: Host, basis: Observation) -> Comparison:
    from runbook import comparison

    return comparison.of(host, basis)


def _amiss(host: Host, today: datetime.date) -> tuple[Finding, ...]:
    from runbook.verify import bookkeeping

    return tuple(
        found
        for found in bookkeeping.book(host, None, today)
        if found.outcome is Outcome.FAIL or _is_misspelt(found)
    )


def _is_misspelt(found: Finding) -> bool:
    """Of a flag; a plan's notes tell of launch arguments."""
    return found.check == "ledger.misspelt" and not str(found.evidence.get("flag")).startswith("-")


def _once(
    what: str,
    basis: tuple[Any, ...],
    make: Callable[[], T],
    keeps: Callable[[T], bool],
    cache: Path | None,
) -> T:
    """What is made of a basis, or was: kept where `keeps` says so."""
    made_from = pickle.dumps((what, _code_stamp(), *basis))
    name, key = hashlib.sha256(b"name" + made_from).hexdigest(), hashlib.sha256(b"key" + made_from).digest()
    path = (cache or usercache.directory() / "plans") / f"{name}.sealed"
    kept: T | None = _opened(usercache.read(path), key)
    if kept is not None:
        return kept
    made = make()
    if keeps(made):
        usercache.keep(path, _sealed(made, key), most=MOST)
    return made


def _sealed(made: object, key: bytes) -> bytes:
    """What only who has what it was made from can read: scripts hold secrets that no name gives away."""
    nonce = os.urandom(_NONCE_BYTES)
    return nonce + AESGCM(key).encrypt(nonce, pickle.dumps(made), None)


def _opened(content: bytes | None, key: bytes) -> Any:
    """What was sealed with this key; None where there is nothing, or where a bit of it is another."""
    if content is None:
        return None
    try:
        opened = AESGCM(key).decrypt(content[:_NONCE_BYTES], content[_NONCE_BYTES:], None)
    except (InvalidTag, ValueError):
        return None
    return pickle.loads(opened)


def _basis(seen: Observation) -> Observation:
    """What these are made of. All else of a look is left out, so that none can come to depend on it unnoticed."""
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
        beside=(),
        audit_bytes=0,
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
    """What this process reads scripts with. Taken once: the files may become another version's while it runs."""
    return b"".join((sys.version.encode(), *usercache.stamps(_code())))


def _code() -> Iterator[Path]:
    """The code that plans and compares, and what it is installed beside: another shell parser may read a script differently."""
    for name in _MODULES:
        yield _PACKAGE / f"{name}.py"
    for room in ("edits", "places", "ledger", "inventory"):
        yield from sorted((_PACKAGE / room).rglob("*.py"))
    yield from sorted(path for path in (_PACKAGE / "ledger").iterdir() if path.suffix in (".yml", ".txt"))
    beside = Path(sys.executable).parent
    yield beside
    for parser in ("shfmt", "bash"):  # one written over in place, one that PATH now finds or misses
        found = shutil.which(parser, path=f"{beside}{os.pathsep}{os.environ.get('PATH', os.defpath)}")
        if found:
            yield Path(found)
