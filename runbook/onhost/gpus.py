"""The host's GPUs as nvidia-smi tells them, and who holds their memory."""

from __future__ import annotations

from runbook.onhost import cgroups, command
from runbook.onhost.calls import Refusal, reading
from runbook.onhost.listening import describe

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
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
_TIMEOUT_S = 20.0  # without the persistence daemon the driver is loaded first


@reading
def gpus(session: Session) -> dict[str, Any]:
    """`gpus` and the `processes` on them; `detail` says why there are none to see."""
    try:
        seen = _ask("--query-gpu", _GPU)
        holding = _ask("--query-compute-apps", _PROCESS)
    except Refusal as refusal:
        return {"gpus": [], "processes": [], "detail": refusal.message}
    alive = cgroups.table(session.proc)
    processes = [{**describe(session.proc, one["pid"]), **one} for one in holding if one["pid"] in alive]
    return {"gpus": seen, "processes": processes, "detail": ""}


def _ask(query: str, fields: dict[str, str]) -> list[dict[str, Any]]:
    text = command.run(["nvidia-smi", f"{query}={','.join(fields.values())}", _FORMAT], timeout_s=_TIMEOUT_S)
    return parse(text, list(fields))


def parse(text: str, names: Sequence[str]) -> list[dict[str, Any]]:
    """nvidia-smi's lines by these names: whole numbers as such, what is not known (`[N/A]`, …) as None."""
    rows = [[cell.strip() for cell in line.split(",")] for line in text.splitlines() if line.strip()]
    return [dict(zip(names, map(_value, row))) for row in rows if len(row) == len(names)]


def _value(cell: str) -> Any:
    if cell.startswith("["):
        return None
    return int(cell) if cell.isdigit() else cell
