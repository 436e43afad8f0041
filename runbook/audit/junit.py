"""Records as JUnit XML, for CI systems that show test reports: a suite a rollout, a case a step and a finding.

Follows the schema most readers share (windyroad's JUnit.xsd, after Ant's): times in seconds, timestamps in UTC without
a zone, properties first. An inconclusive answer is an error there: JUnit has no word for it, and it is no pass.
"""

from __future__ import annotations

import datetime
import re
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

from runbook.audit import prose

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from runbook.audit.record import Record

# What XML 1.0 has no way to write.
_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_EPOCH = datetime.datetime.fromtimestamp(0, datetime.UTC)
_LONGEST_S = 1e9
_PROPERTIES = ("id", "seq", "hash", "action", "release", "verdict", "rolled_back_to", "reason")


def document(records: Sequence[Record]) -> str:
    """The whole report as XML text."""
    suites = [_suite(number, record) for number, record in enumerate(records)]
    root = ElementTree.Element("testsuites")
    root.extend(suites)
    ElementTree.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ElementTree.tostring(root, encoding="unicode") + "\n"


def _suite(number: int, record: Record) -> ElementTree.Element:
    cases = [*_steps(record), *_findings(record), *_error(record)]
    suite = ElementTree.Element(
        "testsuite",
        {
            "name": _xml(f"{record.action} {record.host} {record.id}"),
            "package": _xml(record.host),
            "id": str(number),
            "timestamp": (record.started or _EPOCH).replace(tzinfo=None).isoformat(timespec="seconds"),
            "hostname": _xml(record.text("host")).strip() or "unknown",
            "tests": str(len(cases)),
            "failures": str(sum(case.find("failure") is not None for case in cases)),
            "errors": str(sum(case.find("error") is not None for case in cases)),
            "skipped": "0",
            "time": _seconds(_lasted(record)),
        },
    )
    suite.append(_properties(record))
    suite.extend(cases)
    _text(suite, "system-out", "\n".join(prose.lines(record)))
    _text(suite, "system-err", record.text("error"))
    return suite


def _properties(record: Record) -> ElementTree.Element:
    properties = ElementTree.Element("properties")
    for name in _PROPERTIES:
        if value := record.text(name):
            ElementTree.SubElement(properties, "property", {"name": name, "value": _xml(value)})
    return properties


def _steps(record: Record) -> Iterable[ElementTree.Element]:
    for step in record.rows("steps"):
        told = str(step.get("detail") or "")
        yield _case(record, "step", f"step {step.get('name')}", step, told, step.get("duration_s"))


def _findings(record: Record) -> Iterable[ElementTree.Element]:
    for number, finding in enumerate(record.rows("findings"), 1):
        name = f"{number} {finding.get('check')}"
        yield _case(record, "finding", name, finding, str(finding.get("message") or ""), 0.0)


def _error(record: Record) -> Iterable[ElementTree.Element]:
    if error := record.text("error"):
        yield _case(record, "rollout", "ended early", {"outcome": "error"}, error, 0.0)


def _case(
    record: Record, kind: str, name: str, told: Mapping[str, Any], message: str, time_s: Any
) -> ElementTree.Element:
    attributes = {
        "name": _xml(name),
        "classname": _xml(f"{record.host}.{record.action}.{kind}"),
        "time": _seconds(time_s),
    }
    case = ElementTree.Element("testcase", attributes)
    outcome = str(told.get("outcome") or "none")
    if outcome != "pass":
        tag = "failure" if outcome == "fail" else "error"
        wrong = ElementTree.SubElement(case, tag, {"message": _xml(message), "type": _xml(outcome)})
        wrong.text = _xml(message)
    return case


def _text(parent: ElementTree.Element, tag: str, text: str) -> None:
    ElementTree.SubElement(parent, tag).text = _xml(text)


def _lasted(record: Record) -> float:
    if record.started is None or record.ended is None:
        return 0.0
    return max((record.ended - record.started).total_seconds(), 0.0)


def _seconds(value: Any) -> str:
    known = isinstance(value, int | float) and 0 <= value < _LONGEST_S
    return f"{value if known else 0.0:.3f}"


def _xml(text: str) -> str:
    return _NOT_XML.sub("\ufffd", text)
