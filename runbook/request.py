"""One command line as a value."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from runbook.options import Options

if TYPE_CHECKING:
    from collections.abc import Mapping

LAB = "lab"


@dataclass(frozen=True, slots=True)
class Request:
    """One command line. `settings` maps flag names to the value of --set, None for --unset.

    `address` and `units` are those of hosts.adopt. `url`, `replay` and `load_options` are those of validate without a
    host; the last are options of `python -m runbook.load repro` by their names there, without dashes. `save` is where the
    result of a bench will stand, `output` where it will with every request.
    """

    action: str
    hosts: tuple[str, ...] = ()
    options: Options = field(default_factory=Options)
    settings: Mapping[str, str | None] = field(default_factory=dict)
    yes: bool = False
    json: bool = False
    verbose: bool = False
    accept_new: bool = False
    reason: str = ""
    file: str | None = None
    address: str | None = None
    units: tuple[str, ...] = ()
    url: str | None = None
    replay: str | None = None
    load_options: Mapping[str, str] = field(default_factory=dict)
    save: Path | None = None
    output: Path | None = None
    directory: Path = field(default_factory=Path.cwd)

    @property
    def hosts_dir(self) -> Path:
        return self.directory / "hosts"
