"""The page: a record's sections laid into the template."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from runbook.ending import gone_back, way_back
from runbook.report import curves, sections, tables
from runbook.report.reading import ended, outcome_of, rows, table, text
from runbook.text import clean

if TYPE_CHECKING:
    from collections.abc import Mapping

    from jinja2 import Template

TEMPLATE = "page.html.j2"


def render(record: Mapping[str, Any], *, chain: str | None = None) -> str:
    """The whole page, in ASCII with references for all other characters: it reads the same however it is carried."""
    text = _template().render(context(record, chain))
    return text.encode("ascii", "xmlcharrefreplace").decode("ascii")


def context(record: Mapping[str, Any], chain: str | None) -> dict[str, Any]:
    """What the template is given: plain values, and drawings, which are the only markup among them."""
    plan = table(record, "plan")
    return {
        "heading": sections.heading(record),
        "outcome": outcome_of(record.get("outcome")),
        "ended": ended(record),
        "summary": sections.summary(record),
        "back": _back(record),
        "troubles": sections.troubles(record),
        "timeline": sections.timeline(record),
        "done": tables.is_done(record),
        "notes": sections.notes(record),
        "diffs": [(text(change.get("path")), sections.diff(change)) for change in rows(plan, "changes")],
        "restarts": tables.restarts(record),
        "files": tables.files(record),
        "flags": tables.flags(record),
        "validations": tables.validations(record),
        "evidence": sections.evidence(record),
        "comparison": tables.comparison(record),
        "probes": tables.probes(record),
        "environment": sections.environment(record),
        "calls": tables.calls(record),
        "programs": tables.programs(record),
        "chain": sections.chain(record, chain),
        **drawings(record),
    }


def drawings(record: Mapping[str, Any]) -> dict[str, Any]:
    """The curves, none without matplotlib."""
    if not curves.available():
        return {"drawn": False, "courses": [], "curves": []}
    found = [(text(run.get("name")), curves.of_course(run)) for run in rows(record, "validations")]
    return {
        "drawn": True,
        "courses": [(name, svg) for name, svg in found if svg],
        "curves": curves.of_bench(table(record, "bench")),
    }


def _back(record: Mapping[str, Any]) -> str:
    """The command that undoes a deploy that stands."""
    stands = record.get("action") == "deploy" and record.get("release") and not gone_back(record)
    changed = rows(table(record, "plan"), "changes")
    if not (stands and changed):
        return ""
    told = {key: text(record.get(key)) for key in ("host", "parent")}
    return way_back({**told, "way_back": {"to": text(table(record, "way_back").get("to"))}})


def _template() -> Template:
    import jinja2

    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("runbook.report", "."), autoescape=True, undefined=jinja2.StrictUndefined,
        finalize=lambda value: clean(value) if type(value) is str else value, trim_blocks=True, lstrip_blocks=True,
    )  # fmt: skip
    return environment.get_template(TEMPLATE)
