"""What a hand left on a host by `--set`: variables that its host file does not name, so that no deploy takes them away."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from runbook.onhost.masking import mask

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from runbook.model import Host, Observation
    from runbook.plan import Plan

    Environments = Mapping[str, Mapping[str, str | None]]


CHECK = "ledger.left_behind"  # of the finding by which a verify tells it


def names(seen: Observation) -> frozenset[str]:
    """The variables set by hand that a look tells of: of the current release, and of a rollout that did not come to save one."""
    here = (release for release in seen.releases if release.id == seen.current)
    kept = {name for release in here for name in release.by_hand}
    begun = (seen.inflight or {}).get("by_hand")
    return frozenset(kept.union(map(str, begun) if isinstance(begun, list) else ()))


def files_of(seen: Observation, plan: Plan | None) -> Environments:
    """What the files give each role, as the plan has it; of a plan that was refused as the current release has it."""
    if plan is not None:
        return plan.wanted
    return next((release.flags for release in seen.releases if release.id == seen.current), {})


def standing(
    host: Host, by_hand: Iterable[str], files: Environments, given: Collection[str] = ()
) -> dict[str, str]:
    """Those of the variables that `files` (role → name → value) give and the host file does not name; secrets are masked.

    `given` are the names that `host` has from the command line, and not from its file.
    """
    declared = {flag.name for flag in host.flags}.difference(given)
    values = {name: _value(files, name) for name in sorted(set(by_hand) - declared)}
    return {name: mask(name, value) for name, value in values.items() if value is not None}


def _value(files: Environments, name: str) -> str | None:
    """What the first unit that has it gets: `--set` gives every unit the same."""
    found = (environment.get(name) for environment in files.values())
    return next((value for value in found if value is not None), None)


def told(left: Mapping[str, str]) -> str:
    """What is left behind and what ends it, in a sentence."""
    values = ", ".join(f"{name} = {value}" for name, value in left.items())
    out = " ".join(f"--unset {name}" for name in left if re.fullmatch(r"\w+", name))
    stays = "it stays" if len(left) == 1 else "they stay"
    return f"left behind: {values}, which no host file names: {stays} until one does, or until `deploy {out}`"
