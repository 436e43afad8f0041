"""A unit of one script and everything else that may set a variable for it, as one look shows them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from runbook.model import FileState, Flag, Unit
from tests.building import host, observation, unit_state

if TYPE_CHECKING:
    from runbook.model import Host, Observation

SCRIPT = "/s"


def flag(value: str | None = None) -> Flag:
    return Flag("K", value, "a reason", ("decode",), engine_default="9" if value is None else None)


def the_host(value: str | None = None, **declared: Any) -> Host:
    """A host of one decode unit with the flag K; `declared` are the unit's further files."""
    unit = Unit("decode", "decode.service", SCRIPT, url="http://127.0.0.1:1", **declared)
    return host(units=(unit,), flags=(flag(value),))


def seen(
    case: dict[str, Any], declared: tuple[str, ...] = (), running: dict[str, str] | None = None
) -> Observation:
    """One look at the host of a case; `declared` paths are among the files we may edit."""
    properties: dict[str, Any] = {
        "FragmentPath": "/u" if "unit" in case else "",
        "DropInPaths": " ".join(_shown(f"/{name}") for name in case.get("drop_ins", {})),
        "EnvironmentFiles": "\n".join(f"/{name} (ignore_errors=no)" for name in case.get("env_files", {})),
    }
    more = {"/u": case["unit"]} if "unit" in case else {}
    for kind in ("drop_ins", "env_files"):
        more |= {f"/{name}": text for name, text in case.get(kind, {}).items()}
    every = {path: _file(path, text) for path, text in (more | case.get("sourced", {})).items()}
    script = _file(SCRIPT, case["script"])
    state = unit_state("decode.service", running or {}, **properties)
    return observation(
        units={"decode.service": state},
        files={SCRIPT: script} | {path: every[path] for path in declared},
        feeds={path: file for path, file in every.items() if path not in declared},
        manager=case.get("manager", {}),
        manager_error=case.get("manager_error"),
    )


def _shown(path: str) -> str:
    """A path as `systemctl show` prints it in a list."""
    return f'"{path}"' if " " in path else path


def _file(path: str, text: str | None) -> FileState:
    return FileState(path, path, None if text is None else text.encode())
