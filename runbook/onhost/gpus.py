"""The host's GPUs as nvidia-smi tells them, and who holds their memory."""

from __future__ import annotations

from runbook.onhost import cgroups, command
from runbook.onhost.calls import Refusal, reading
from runbook.onhost.listening import describe

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from runbook.onhost.session import Session

_FORMAT = "--format=csv,noheader,nounits"
# Names of nvidia-smi --help-query-gpu; memory in MiB.
_GPU = {
    "index": "index",
    "name": "name",
    "driver": "driver_version",
    "memory_used_mib": "memory.used",
    "memory_total_mib": "memory.total",
    "ecc_uncorrected": "ecc.errors.uncorrected.volatile.total",
}
_PROCESS = {"pid": "pid", "memory_used_mib": "used_memory"}
_GPUS, _PROCESSES = ("--query-gpu", _GPU), ("--query-compute-apps", _PROCESS)
# Without the persistence daemon the driver is loaded first. Whoever waits for the end of a rollout waits 10 s.
TIMEOUT_S = 8.0


@reading
def gpus(session: Session) -> dict[str, Any]:
    """`gpus` and the `processes` on them; `detail` says why there are none to see."""
    try:
        seen, holding = _ask(session, _GPUS, _PROCESSES)
    except Refusal as refusal:
        return {"gpus": [], "processes": [], "detail": refusal.message}
    alive = cgroups.table(session.proc)
    processes = [{**describe(session.proc, one["pid"]), **one} for one in holding if one["pid"] in alive]
    return {"gpus": seen, "processes": processes, "detail": ""}


def installed(session: Session) -> list[dict[str, Any]]:
    """The GPUs alone, as `gpus` has them; none where nvidia-smi does not tell."""
    try:
        return _ask(session, _GPUS)[0]
    except Refusal:
        return []


def _ask(session: Session, *queries: tuple[str, Mapping[str, str]]) -> list[list[dict[str, Any]]]:
    """The rows of each query, all asked at once and waited for together.

    A driver that hangs is asked once in a session: it would hang again, and each time somebody waits.
    """
    if session.hanging:
        raise Refusal("failed", session.hanging)
    argvs = [["nvidia-smi", f"{option}={','.join(fields.values())}", _FORMAT] for option, fields in queries]
    try:
        told = command.run_together(argvs, timeout_s=TIMEOUT_S)
    except Refusal as refusal:
        if command.hung(refusal):
            session.hanging = f"{refusal.message}; it is not asked again"
        raise
    return [parse(text, list(fields)) for text, (_, fields) in zip(told, queries)]


def parse(text: str, names: Sequence[str]) -> list[dict[str, Any]]:
    """nvidia-smi's lines by these names: whole numbers as such, what is not known (`[N/A]`, …) as None."""
    rows = [[cell.strip() for cell in line.split(",")] for line in text.splitlines() if line.strip()]
    return [dict(zip(names, map(_value, row))) for row in rows if len(row) == len(names)]


def _value(cell: str) -> Any:
    if cell.startswith("["):
        return None
    return int(cell) if cell.isdigit() else cell
