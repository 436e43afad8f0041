"""A flag that another place wins is edited there where the host file declares the file, else refused by name."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from runbook import lines, planning
from runbook.errors import EditRefusedError
from runbook.places import elsewhere
from tests.places.laying import seen, the_host

if TYPE_CHECKING:
    from runbook.plan import Plan

_CASES = yaml.safe_load((Path(__file__).parents[1] / "cases" / "places" / "elsewhere.yml").read_text())


def planned(case: dict[str, Any], **fields: Any) -> Plan:
    declared = {key: tuple(paths) for key, paths in case.get("declared", {}).items()}
    paths = tuple(path for each in declared.values() for path in each)
    return planning.deploy(the_host(case.get("wanted"), **declared), seen(case, paths, **fields))


@pytest.mark.parametrize("case", _CASES, ids=lambda case: case["name"])
def test_each_place_is_edited_or_refused(case: dict[str, Any]) -> None:
    if "refused" in case:
        with pytest.raises(EditRefusedError) as refused:
            planned(case)
        assert (str(refused.value), refused.value.exit_code) == (case["refused"], 2)
        return
    made = planned(case)
    assert {change.path: (change.after or b"").decode() for change in made.changes} == case["changes"]


@pytest.mark.parametrize("case", [c for c in _CASES if c.get("changes")], ids=lambda case: case["name"])
def test_what_was_settled_needs_no_second_edit(case: dict[str, Any]) -> None:
    made = planned(case)
    declared = {key: tuple(paths) for key, paths in case.get("declared", {}).items()}
    after = {change.path: change.after for change in made.changes}
    host = the_host(case.get("wanted"), **declared)
    look = seen(case, tuple(path for each in declared.values() for path in each))
    assert elsewhere.settle(host, look, after).after == after


DROP_IN = {"script": "exec python\n", "drop_ins": {"a.conf": "[Service]\nEnvironment=K=0\n"}}
DECLARED = {**DROP_IN, "declared": {"drop_ins": ["/a.conf"]}}


def test_a_changed_drop_in_asks_for_a_daemon_reload_and_an_environment_file_does_not() -> None:
    assert planned(DECLARED).daemon_reload
    case = {"script": "exec python\n", "env_files": {"e": "K=4\n"}, "declared": {"env_files": ["/e"]}}
    made = planned(case)
    assert ([change.path for change in made.changes], made.daemon_reload) == (["/e"], False)


def test_the_unit_restarts_since_it_runs_with_what_the_drop_in_gave_it() -> None:
    made = planned(DECLARED, running={"K": "0"})
    assert [(r.role, r.why) for r in made.restarts] == [
        ("decode", "running environment differs: K is '0', wanted absent")
    ]


def test_the_plan_shows_a_line_a_place_and_the_engines_default() -> None:
    case = {**DECLARED, "script": "export K=1\nexec python\n"}
    assert lines.plan_lines(planned(case, running={"K": "1"}))[:5] == [
        "K on decode, wanted absent → engine default 9:",
        "  drop-in /a.conf:2 sets '0'",
        "  script /s:1 sets '1' and wins",
        "  running: '1' (environ of pid 100)",
        "K absent → engine default 9",
    ]


def test_the_simple_case_is_told_without_a_word() -> None:
    made = planned({"script": "export K=1\nexec python\n", "wanted": "1"}, running={"K": "1"})
    assert lines.plan_lines(made) == ["nothing to change, nothing to restart"]


def test_secrets_beside_a_flag_are_masked_in_the_diff() -> None:
    text = '[Service]\nEnvironment=HF_TOKEN=hf_x K=0 "API_KEY=a b"\n'
    made = planned({**DECLARED, "drop_ins": {"a.conf": text}})
    assert "hf_x" not in made.changes[0].diff()
    assert "a b" not in made.changes[0].diff()
    assert made.changes[0].after == b'[Service]\nEnvironment=HF_TOKEN=hf_x "API_KEY=a b"\n'
