"""The report of one rollout: one page for a browser, or a few lines of Markdown; both from its audit record alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["html", "markdown"]


def html(record: Mapping[str, Any], *, chain: str | None = None) -> str:
    """One self-contained page: no script, no network, every text of the record escaped.

    `chain` is what was found when the chain it stands in was verified. Without matplotlib there are no curves, and the
    page says so.
    """
    from runbook.report import page

    return page.render(record, chain=chain)


def markdown(record: Mapping[str, Any]) -> str:
    """A summary short enough for a pull request or a chat."""
    from runbook.report import summary

    return summary.render(record)
