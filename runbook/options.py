"""What the operator chose for one rollout."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping


class Options(NamedTuple):
    """What the operator chose. `load` None: as the host's `traffic` says. `names` of validations; none: all.

    Of a bench: `load_options` are options of `python -m runbook.load bench` that go before the host file's; `against` is
    a release, or the name of `baseline`, a result that was read from a file here. `units` are roles or unit names, none
    of them means all; `lines`, `since` (epoch seconds) and `grep` (a regular expression) choose among a journal's lines.
    """

    dry_run: bool = False
    skip_validation: bool = False
    load: bool | None = None
    to: str | None = None
    force: bool = False
    names: tuple[str, ...] = ()
    load_options: Mapping[str, str] = {}
    against: str | None = None
    baseline: Mapping[str, Any] | None = None
    units: tuple[str, ...] = ()
    lines: int = 200
    since: float | None = None
    grep: str | None = None
