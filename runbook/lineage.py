"""Releases by where they come from: which is the newer, and which is fit to be gone back to."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from runbook.model import Release

NEVER_RAN = "never fully ran (its rollout was interrupted)"
FAILED = "failed its own verdict"


def newest_first(releases: Iterable[Release]) -> list[Release]:
    """A release stands before its parent whatever the clocks that dated them say; else the younger one comes first."""
    known = {release.id: release for release in releases}
    return sorted(known.values(), key=lambda release: _place(known, release), reverse=True)


def _place(known: dict[str, Release], release: Release) -> tuple[str, int, str]:
    line = list(line_of(known.values(), release))
    return max(one.created for one in line), len(line), release.id


def line_of(releases: Iterable[Release], release: Release) -> Iterator[Release]:
    """The release, its parent, and so on, as far as they are there; each once, for a manifest may have been edited."""
    known = {one.id: one for one in releases}
    here: Release | None = release
    while here is not None:
        yield here
        known.pop(here.id, None)
        here = known.get(here.parent or "")


def amiss(release: Release) -> str:
    """Why nobody should go back to a release without meaning it; empty where nothing speaks against it."""
    if release.verdict == "failed":
        return FAILED
    return NEVER_RAN if release.unfinished else ""


def fit(releases: Sequence[Release], start: Release) -> Release:
    """The nearest of `start` and what came before it that is fit to be gone back to; `start` itself where none is."""
    return next((one for one in line_of(releases, start) if not amiss(one)), start)


def passed_over(releases: Sequence[Release], start: Release, target: Release) -> list[Release]:
    """The releases from `start` on that were not gone back to; none where `target` is not among what came before it."""
    line = list(line_of(releases, start))
    ids = [one.id for one in line]
    return line[: ids.index(target.id)] if target.id in ids else []
