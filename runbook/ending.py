"""The end of a rollout in a few lines: the verdict first, then bounds, speed, release, audit, and the way back."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Any

from runbook import benchlines, hints, leftovers, shipped
from runbook.request import LAB
from runbook.text import clean, counted, one_line, sentence
from runbook.verdict import WORST_FIRST, Outcome, ended_as

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


def lines(document: Mapping[str, Any]) -> list[str]:
    """The document's last lines; the first is the headline, the others are indented below it."""
    parts = (_error, _bad, _warned, _validations, _bench, _release, _left_behind, _way_back, hints.of)
    return [headline(document), *(f"  {line}" for part in parts for line in part(document))]


def headline(document: Mapping[str, Any]) -> str:
    """`deploy gpu1: FAIL (exit 1), rolled back to 20261130T074049-e436`."""
    back = f", {gone}" if (gone := gone_back(document)) else ""
    verdict = f"{ended_as(document).upper()} (exit {document['exit_code']}){back}"
    whose = f"{document['action']} {document['host']}".strip()
    return one_line(f"{whose}: {verdict}")


def gone_back(document: Mapping[str, Any]) -> str:
    """Where a rollout went back to, or that it did not get there; empty where it did not try."""
    if document.get("rolled_back_to"):
        return f"rolled back to {document['rolled_back_to']}"
    unfinished = document.get("going_back_to")
    return f"going back to {unfinished} did not finish" if unfinished else ""


def _error(document: Mapping[str, Any]) -> Iterator[str]:
    yield from clean(document["error"] or "").splitlines()


def _bad(document: Mapping[str, Any]) -> Iterator[str]:
    """What did not pass, worst first: the cause of what could not be asked comes before it."""
    for finding in sorted(document["findings"], key=lambda found: WORST_FIRST.index(found["outcome"])):
        if finding["outcome"] != Outcome.PASS.value and finding["message"] != document["error"]:
            yield f"{finding['outcome']}: {finding['check']}: {sentence(finding['message'])}"


def _warned(document: Mapping[str, Any]) -> Iterator[str]:
    """How often a verify warned, and of what: a warning stands far above its end. What --set left is told by itself."""
    warned = [found["check"] for found in document["findings"] if _is_warning(found)]
    if document["action"] == "verify" and warned:
        yield one_line(f"{counted(len(warned), 'warning')} above: {', '.join(dict.fromkeys(warned))}")


def _is_warning(found: Mapping[str, Any]) -> bool:
    warns = (found.get("evidence") or {}).get("severity") == "warn"
    return warns and found["outcome"] == Outcome.PASS.value and found["check"] != leftovers.CHECK


def _validations(document: Mapping[str, Any]) -> Iterator[str]:
    """Clean runs with their bounds; of those that stand among the findings already, where their streams are."""
    for run in document["validations"]:
        if run.get("streams"):
            yield one_line(f"{run['name']}: the streams that were not clean: {_kept(run, document['host'])}")
        if run["outcome"] == Outcome.PASS.value and run["upper_95"] is not None:
            yield one_line(
                f"{run['name']}: {run['corrupt']} of {run['sessions']} corrupt, "
                f"true rate below {run['upper_95']:.2%} (95 % bound)"
            )


def _kept(run: Mapping[str, Any], host: str) -> str:
    """Where raw streams lie: here, where the load ran here, else on the host that it ran on."""
    here = host == LAB or "://" in host
    return f"{run['streams']} " + (
        "(validate --replay)" if here else f"on {host} (copy it for validate --replay)"
    )


def _bench(document: Mapping[str, Any]) -> Iterator[str]:
    comparison = (document["bench"] or {}).get("comparison") or {}
    for row in comparison.get("rows") or ():
        if row["verdict"] == "no regression":
            where = f"concurrency {row['concurrency']}" if row["concurrency"] else "no limit"
            yield f"bench {where}: {benchlines.rates(row)}, ratio {benchlines.verdict(row)}"


def _release(document: Mapping[str, Any]) -> Iterator[str]:
    if document["release"]:
        yield one_line(f"release {document['release']}")
    if document.get("kept_as") not in (None, document["release"]):
        yield one_line(f"what was there before is kept as release {document['kept_as']}")
    if document.get("unvalidated"):
        yield one_line(document["unvalidated"])
    if document["audit"]:
        yield f"audit   {one_line(document['rollout'])} #{document['audit']['seq']}"


def _left_behind(document: Mapping[str, Any]) -> Iterator[str]:
    """What --set and --unset leave on the host although no file says so, and what ends it: of this run what the next
    deploy reverts, of this run and of those before what it does not."""
    overrides = (document.get("overrides") or {}) if _stands(document) else {}
    undeclared = document.get("undeclared") or ()
    if reverted := {name: value for name, value in overrides.items() if name not in undeclared}:
        yield one_line(f"left behind: {_said(reverted)}, which no host file says; the next deploy reverts it")
    if stays := document.get("left_behind"):
        yield one_line(leftovers.told(stays), 800)


def _said(overrides: Mapping[str, str | None]) -> str:
    return ", ".join(
        f"{name} {'absent' if value is None else f'= {value}'}" for name, value in overrides.items()
    )


def _way_back(document: Mapping[str, Any]) -> Iterator[str]:
    if _left_changed(document):
        yield one_line(f"to go back{_past(document)}:")
        yield f"  {way_back(document)}"


def _past(document: Mapping[str, Any]) -> str:
    """That the way back is not to where the deploy came from, or that even so it leads nowhere good."""
    back = document.get("way_back") or {}
    if back.get("amiss"):
        return f" (WARNING: to a release that {back['amiss']}; none before it is better)"
    return f", past {document['parent']}, which {back['past']}" if back.get("past") else ""


def way_back(document: Mapping[str, Any]) -> str:
    """The very command that undoes a deploy, as a shell takes it."""
    target = (document.get("way_back") or {}).get("to") or document.get("parent")
    to = ["--to", target] if target else []
    return shlex.join([shipped.command(), "rollback", "--host", document["host"], *to])


def _stands(document: Mapping[str, Any]) -> bool:
    """A deploy whose release is what the host has now."""
    return bool(document["action"] == "deploy" and document["release"] and not gone_back(document))


def _left_changed(document: Mapping[str, Any]) -> bool:
    """A deploy that wrote something, and that still stands."""
    return bool(_stands(document) and document["plan"] and document["plan"]["changes"])
