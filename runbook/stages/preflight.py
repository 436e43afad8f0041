"""Is the host fit for what is planned? Everything that can be known before the first byte is written."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from runbook import probes
from runbook.errors import PreflightError
from runbook.model import Bench, Sessions
from runbook.probes import ready
from runbook.stages import engine, exposure, holders
from runbook.text import one_line

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from runbook.model import Host, Observation, Unit
    from runbook.plan import Plan
    from runbook.work import Work

# Room that must be free before the first byte is written: files, their copies in a release, the audit.
FREE_BYTES = 16 * 1024 * 1024
FREE_INODES = 200
# The load generator's own floor (anyio's); the helper's is 3.9.
LOAD_PYTHON = (3, 10)


@dataclass(frozen=True, slots=True)
class Fit:
    """A host that may be written to: whether it serves now, the engine it serves with, and what speaks against its GPUs."""

    serving: bool
    engine: Mapping[str, Any]
    warnings: tuple[str, ...] = ()


def check(work: Work, seen: Observation, plan: Plan, *, load: bool) -> Fit:
    """Room, units, Python, GPUs, and the chat's answer now. Raises PreflightError before anything is touched.

    `load`: validations or a bench of ours will run on the host.
    """
    with work.run.step("preflight") as step:
        problems = [*room(seen), *_python(work.host, seen, load=load), *_units(work, seen, plan)]
        if problems:
            raise PreflightError(f"{work.host.name}: {'; '.join(problems)}; nothing was changed")
        engine.ask_ahead(work)
        serving, step.detail = _serving(work)
        found = engine.ask(work)
        return Fit(serving, found.known, (*_faults(work, found.gpus), *exposure.warnings(seen)))


def room(seen: Observation) -> list[str]:
    """What keeps us from writing, before the first byte."""
    problems = [f"{path} is on a read-only file system" for path in seen.read_only]
    if seen.free_bytes < FREE_BYTES:
        problems.append(f"only {seen.free_bytes // 1024} KiB free, wanted {FREE_BYTES // 1024}")
    if seen.free_inodes < FREE_INODES:
        problems.append(f"only {seen.free_inodes} inodes free, wanted {FREE_INODES}")
    return problems


def _python(host: Host, seen: Observation, *, load: bool) -> Iterator[str]:
    ours = isinstance(host.bench, Bench) or any(isinstance(one, Sessions) for one in host.validations)
    found = str(seen.facts.get("python") or "")
    numbers = tuple(int(part) for part in found.split(".")[:2] if part.isdigit())
    if load and ours and numbers and numbers < LOAD_PYTHON:
        yield (
            f"`{host.python}` is Python {found}, and the load needs {'.'.join(map(str, LOAD_PYTHON))} "
            "(`python:` in the host file names another; --skip-validation does without)"
        )


def _units(work: Work, seen: Observation, plan: Plan) -> Iterator[str]:
    """Units of the plan that could not start: masked, a broken unit file, their port held by somebody else."""
    for item in plan.restarts:
        state = seen.units[item.unit].properties.get("LoadState")
        if state in ("masked", "bad-setting", "error"):
            yield f"{item.unit} is {state}" + (
                "; `systemctl unmask` lets it start" if state == "masked" else ""
            )
        elif not seen.units[item.unit].running:
            yield from _held(work, work.host.unit(item.role))


def _held(work: Work, unit: Unit) -> Iterator[str]:
    for line in holders.of_port(work, holders.Start(unit)):
        yield f"{unit.name} is down and its {line}"


def _serving(work: Work) -> tuple[bool, str]:
    """Does it serve right now? A chat is only sent while every worker is healthy: else the router's breaker opens."""
    timeout_s = work.host.wait.health.timeout_s
    for unit in work.host.units:
        if (
            unit.health
            and not (answer := probes.of(unit.health).ask(work.tunnel, unit.health, timeout_s)).holds
        ):
            return False, f"not serving now: {unit.role}: {answer.text}"
    endpoint = work.host.endpoint
    if endpoint is None or endpoint.url is None:
        return False, "no unit has a url"
    wait = work.host.wait
    answer = ready.ask(
        work.tunnel, endpoint.url, work.host.model,
        max_tokens=wait.ready_max_tokens, timeout_s=wait.ready.timeout_s, api_key=work.api_key,
    )  # fmt: skip
    if answer.final:
        raise PreflightError(_misdescribed(work, endpoint.url, answer.text))
    return answer.holds, f"serving now: {answer.text}" if answer.holds else f"not serving now: {answer.text}"


def _misdescribed(work: Work, url: str, answer: str) -> str:
    """The service is up and refuses our request: the host file is wrong about it. Says what is served there."""
    timeout_s = work.host.wait.ready.timeout_s
    models = ready.served(work.tunnel, url, timeout_s=timeout_s, api_key=work.api_key)
    served = f"; it serves {', '.join(map(repr, models))}" if models else ""
    return (
        f"{work.host.name}: asked for model {work.host.model!r}, {url} answers {answer}{served}; "
        f"mend {work.host.source} first, nothing was changed"
    )


def _faults(work: Work, gpus: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """What the driver has against the GPUs: a fault there looks like a fault of the change."""
    for gpu in gpus:
        if gpu["ecc_uncorrected"]:
            yield f"GPU {gpu['index']} ({gpu['name']}) has {gpu['ecc_uncorrected']} uncorrected ECC errors"
    if gpus and (found := work.wire.call("xids"))["count"]:
        yield one_line(f"{found['count']} Xid errors since this boot, the last: {found['lines'][-1]}")
