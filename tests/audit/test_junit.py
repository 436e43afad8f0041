"""JUnit as its readers want it: the rules of windyroad's JUnit.xsd, held with the standard library's parser."""

from __future__ import annotations

import re
from typing import Any
from xml.etree import ElementTree

from hypothesis import example, given
from hypothesis import strategies as st

from runbook.audit import junit
from runbook.audit.record import records_of
from tests.audit.chains import VARIED, chain_of, record

STEPS = [
    {"name": "observe", "outcome": "pass", "duration_s": 0.25},
    {"name": "ready", "outcome": "error", "duration_s": 9},
]
FINDINGS = [
    {"check": "health", "outcome": "pass", "message": "up"},
    {"check": "validation:final80", "outcome": "fail", "message": "12 of 80 corrupt <b>\x1b[31m&"},
    {"check": "bench", "outcome": "inconclusive", "message": "too noisy"},
]
FULL = dict(VARIED) | {"steps": STEPS, "findings": FINDINGS, "error": "the link was lost"}

ATTRIBUTES = {"name", "timestamp", "hostname", "tests", "failures", "errors", "time", "id", "package"}
FIELDS = st.sampled_from(["steps", "findings", "error", "reason", "host", "started", "id"])
KEYS = st.sampled_from(["name", "outcome", "check", "message", "duration_s", "detail"])
ROWS = st.dictionaries(KEYS, st.text(max_size=9) | st.integers() | st.none())


def suites(*documents: dict[str, Any]) -> list[ElementTree.Element]:
    text = junit.document(records_of(chain_of(documents)))
    root = ElementTree.fromstring(text.encode())
    assert root.tag == "testsuites"
    return list(root)


def hold_to_the_schema(suite: ElementTree.Element) -> None:
    """What the schema demands of a suite: attributes and their forms, the order of children, counts that are right."""
    assert suite.tag == "testsuite"
    assert set(suite.keys()) >= ATTRIBUTES
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d", suite.attrib["timestamp"])
    assert suite.attrib["hostname"].strip()
    tags = [child.tag for child in suite]
    cases = [child for child in suite if child.tag == "testcase"]
    assert tags == ["properties", *(["testcase"] * len(cases)), "system-out", "system-err"]
    assert int(suite.attrib["tests"]) == len(cases)
    for tag, count in (("failure", "failures"), ("error", "errors")):
        assert int(suite.attrib[count]) == sum(case.find(tag) is not None for case in cases)
    for timed in (suite, *cases):
        assert re.fullmatch(r"\d+\.\d{3}", timed.attrib["time"])
    for case in cases:
        assert case.attrib["name"]
        assert case.attrib["classname"]
        assert len(case) <= 1
        assert all(wrong.attrib["type"] for wrong in case)
    assert all(one.attrib.keys() == {"name", "value"} for one in suite.findall("properties/property"))


def test_a_rollout_is_a_suite_with_a_case_a_step_and_a_finding() -> None:
    (suite,) = suites(FULL)
    hold_to_the_schema(suite)
    names = [case.attrib["name"] for case in suite.findall("testcase")]
    assert names == [
        "step observe",
        "step ready",
        "1 health",
        "2 validation:final80",
        "3 bench",
        "ended early",
    ]
    assert (suite.attrib["failures"], suite.attrib["errors"]) == ("1", "3")
    assert suite.attrib["time"] == "60.500"
    assert suite.findtext("system-err") == "the link was lost"


def test_no_outcome_but_a_pass_is_green() -> None:
    (suite,) = suites(FULL)
    wrong = {
        case.attrib["name"]: [one.tag for one in case] for case in suite.findall("testcase") if len(case)
    }
    assert wrong == {
        "step ready": ["error"],
        "2 validation:final80": ["failure"],
        "3 bench": ["error"],
        "ended early": ["error"],
    }


def test_what_xml_cannot_say_is_replaced_and_markup_is_text() -> None:
    (suite,) = suites(FULL)
    message = suite.findall("testcase/failure")[0].attrib["message"]
    assert message == "12 of 80 corrupt <b>\ufffd[31m&"


def test_several_rollouts_are_several_suites() -> None:
    found = suites(FULL, record(2), record(3))
    assert [suite.attrib["id"] for suite in found] == ["0", "1", "2"]
    for suite in found:
        hold_to_the_schema(suite)


@example({"host": "\n"})
@given(st.dictionaries(FIELDS, st.text(max_size=20) | st.lists(ROWS, max_size=3)))
def test_records_of_any_content_make_a_report_that_can_be_read(document: dict[str, Any]) -> None:
    for suite in suites(document):
        hold_to_the_schema(suite)
