"""Which older bench the one of a deploy is compared with, and the one before the change where none is kept."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from runbook import releases
from runbook.errors import MeasureError, RunbookError
from runbook.model import Bench
from runbook.validations import bench, benchcommand, endpoint_url
from runbook.verdict import Outcome
from runbook.verify import benching, loading, serverinfo

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from runbook.model import BenchCommand, Host, Observation, Release
    from runbook.plan import Plan
    from runbook.work import Work

# Releases whose own figures are those of a state that was found good, or found there in the first place.
TRUSTED = ("proven", "adopted")
_ASK_S = 5.0


def baseline(
    work: Work, parent: Release, seen: Observation, plan: Plan, *, serving: bool
) -> Mapping[str, Any] | None:
    """The bench of the state before the change: one that a release keeps of the same workload and server, else measured now.

    Where the plan changes no file the state before is not the parent but what was last trusted: a release that was found
    too slow is not compared with itself.
    """
    spec = work.host.bench
    if spec is None:
        return None
    states = [parent] if plan.changes else list(lineage(parent, seen.releases))
    kept = _kept(work.host, states, spec, _wanted(work, spec))
    if kept is not None:
        return kept
    if not serving:
        return parent.bench
    if not (plan.changes or plan.restarts) and parent.verdict not in TRUSTED:
        work.run.note(
            "no release before this one has a bench of this workload: the bench compares the server with itself"
        )
    return _measured_before(work, spec, parent)


def foreseen(host: Host, seen: Observation, plan: Plan) -> bool:
    """Whether a deploy of this plan will bench before it changes anything, as far as one look tells.

    The server is not asked what it is: one of another version than the kept bench's is benched although this says no.
    Raises UsageError for options of a bench that make no sense.
    """
    spec = host.bench
    if spec is None or not all(seen.units[unit.name].running for unit in host.units):
        return False
    here, kept = releases.current(seen), releases.standing(seen)
    states = [kept] if plan.changes and kept else []
    if here and not plan.changes:
        states = list(lineage(here, seen.releases))
    wanted = bench.fingerprint(host, spec) if isinstance(spec, Bench) else {}
    return _kept(host, states, spec, wanted) is None


def _kept(
    host: Host, states: Sequence[Release], spec: Bench | BenchCommand, wanted: Mapping[str, Any]
) -> Mapping[str, Any] | None:
    """The first bench that one of these releases keeps and a new one may be compared with."""
    changing = bench.expected(host)
    return next((one.bench for one in states if usable(one.bench, spec, wanted, changing)), None)


def lineage(release: Release, known: Sequence[Release]) -> Iterator[Release]:
    """A release and those it descends from, the nearest first, as far as they are trusted."""
    by_id = {one.id: one for one in known} | {release.id: release}
    at: str | None = release.id
    while at is not None and (one := by_id.pop(at, None)) is not None:
        if one.verdict in TRUSTED:
            yield one
        at = one.parent


def usable(
    kept: Mapping[str, Any] | None,
    spec: Bench | BenchCommand,
    wanted: Mapping[str, Any],
    expected: Sequence[str] = (),
) -> bool:
    """Whether a new result may be compared with a kept one: it is sound, of the wanted fingerprint, and has every level."""
    if not isinstance(spec, Bench):
        return benchcommand.comparable(kept, spec)
    if kept is None or kept.get("outcome") != Outcome.PASS.value or bench.unlike(kept, wanted, expected):
        return False
    return set(wanted["concurrency"]) <= set(kept["fingerprint"].get("concurrency", ()))


def _wanted(work: Work, spec: Bench | BenchCommand) -> dict[str, Any]:
    return bench.fingerprint(work.host, spec, _server_now(work)) if isinstance(spec, Bench) else {}


def _server_now(work: Work) -> dict[str, Any] | None:
    """Version, arguments and GPU as the serving worker tells them now; None where it tells nothing."""
    from runbook.load.bench.server import facts_of

    url = bench.generating(work.host) or endpoint_url(work.host)
    try:
        answers = serverinfo.answers(work, url, _ASK_S)
        document = next(filter(None, map(serverinfo.document, answers)), None)
    except RunbookError:
        return None
    return document and facts_of(document)


def _measured_before(work: Work, spec: Bench | BenchCommand, parent: Release) -> Mapping[str, Any] | None:
    with work.run.step("bench before", budget_s=benching.budget(spec)) as step:
        try:
            result = benching.run(loading.jobs_of(work), spec, benching.teller(work.run, step))
        except MeasureError as error:
            # A fix must not wait for a number; the bench after it will be inconclusive and say why.
            step.outcome, step.detail = Outcome.ERROR, str(error)
            return None
        work.wire.call("release_update", state=work.host.state, id=parent.id, fields={"bench": result})
    return result
