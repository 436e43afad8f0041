"""What the operator chose for one rollout."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Options:
    """What the operator chose. `load` None: as the host's `traffic` says. `names` of validations; none: all."""

    dry_run: bool = False
    skip_validation: bool = False
    load: bool | None = None
    to: str | None = None
    force: bool = False
    names: tuple[str, ...] = ()
