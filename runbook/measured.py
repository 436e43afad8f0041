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


def corrupt_of(run: Mapping[str, Any]) -> str:
    """The corrupt sessions of those that say anything about corruption: `0/80`, and `2/2 of 80` where the others were cut
    off or never answered. A run of the user's own script, and one of an older release, says only how many there were."""
    judged = run.get("judged", run.get("finished", run["sessions"]))
    rest = f" of {run['sessions']}" if judged != run["sessions"] else ""
    return f"{run['corrupt']}/{judged}{rest}"
