"""What was measured under load."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass
class Measured:
    """Result documents of the load that ran, filled as it runs, so that an interrupted rollout still has them.

    `baseline` is what `bench` was compared with, `requests` are those of the bench where they were asked for.
    """

    validations: list[Mapping[str, Any]] = field(default_factory=list)
    bench: Mapping[str, Any] | None = None
    comparison: Mapping[str, Any] | None = None
    baseline: Mapping[str, Any] | None = None
    requests: list[Mapping[str, Any]] = field(default_factory=list)
