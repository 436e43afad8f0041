"""Every document a task prints with --json against the schema in docs/."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from runbook import command_line, looking, rollout
from runbook.errors import LockedError
from runbook.events import StepEnded
from runbook.options import Options
from runbook.pages import PAGES
from runbook.story import Story
from runbook.verdict import Finding, Outcome
from tests import jsonschemas
from tests.benchmade import SPEC, Loads
from tests.building import host
from tests.fakehost import FakeHost
from tests.test_rollout import VALIDATIONS, a_host, corrupt, work_on

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


def printed(story: Story) -> dict[str, Any]:
    """The document as it is printed: through JSON and back."""
    document: dict[str, Any] = json.loads(json.dumps(story.document(), allow_nan=False))
    return document


def deployed() -> FakeHost:
    fake = a_host()
    rollout.deploy(work_on(fake), Options())
    fake.lock = None
    return fake


def benched(**fields: Any) -> FakeHost:
    return FakeHost(host=host(validations=VALIDATIONS[:1], bench=SPEC), load=Loads(), **fields)


PAGES_TOLD: dict[str, Callable[[], Story]] = {
    "plan": lambda: looking.plan(work_on(a_host()), Options()),
    "deploy": lambda: rollout.deploy(work_on(a_host(), overrides={"A": "1", "B": None}), Options()),
    "deploy, rolled back": lambda: rollout.deploy(work_on(a_host(load=corrupt)), Options()),
    "deploy, not validated": lambda: rollout.deploy(work_on(a_host()), Options(skip_validation=True)),
    "deploy, refused": lambda: rollout.deploy(work_on(a_host(lock={"who": "bob"})), Options()),
    "verify": lambda: rollout.check(work_on(a_host(mode="running")), Options()),
    "validate": lambda: rollout.validate(work_on(a_host(mode="running")), Options()),
    "bench": lambda: rollout.bench(work_on(benched(mode="running")), Options()),
    "deploy, benched": lambda: rollout.deploy(work_on(benched()), Options()),
    "rollback": lambda: rollout.rollback(work_on(deployed()), Options()),
    "restart": lambda: rollout.restart(work_on(deployed()), Options(units=("prefill",))),
    "status": lambda: looking.status(work_on(a_host()), Options()),
    "status of a release": lambda: looking.status(work_on(deployed()), Options()),
    "releases": lambda: looking.list_releases(work_on(deployed()), Options()),
    "logs": lambda: looking.logs(work_on(a_host()), Options()),
}


@pytest.mark.parametrize("name", PAGES_TOLD)
def test_a_page_prints_what_the_schema_says(name: str) -> None:
    document = printed(PAGES_TOLD[name]())
    assert jsonschemas.problems(document, "document") == []
    assert jsonschemas.problems([document, document]) == []


def test_every_page_there_is_stands_above() -> None:
    assert {name.split(",")[0].split(" of ")[0] for name in PAGES_TOLD} == set(PAGES)


def test_a_pass_and_exit_zero_are_the_same_thing() -> None:
    for tell in PAGES_TOLD.values():
        document = printed(tell())
        assert (document["exit_code"] == 0) is (document["outcome"] == "pass"), document["action"]


@pytest.mark.parametrize(
    "given",
    [
        ("hosts.check", {}),
        ("hosts.check", {"host": ["nobody"]}),
        ("hosts.list", {}),
        ("plan", {"file": "serve.sh", "set_": ["A=1"]}),
        ("plan", {"file": "nowhere.sh", "set_": ["A=1"]}),
        ("deploy", {"set_": ["A"]}),
        ("restart", {}),
        ("logs", {"since": "yesterday"}),
        ("logs", {"grep": "("}),
        ("status", {"host": ["nobody"]}),
    ],
    ids=str,
)
def test_a_task_that_reaches_no_host_prints_what_the_schema_says(
    given: tuple[str, dict[str, Any]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / "serve.sh").write_text("exec x\n")
    (tmp_path / "hosts").mkdir()
    (tmp_path / "hosts" / "gpu1.yml").write_text("service: s\n")
    monkeypatch.chdir(tmp_path)
    action, arguments = given
    code = command_line.run(action, json=True, **arguments)
    document = json.loads(capsys.readouterr().out)
    assert jsonschemas.problems(document) == []
    if isinstance(document, dict):
        assert document["exit_code"] == code


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"outcome": "passed"}, "$.outcome: should be one of"),
        ({"exit_code": 8}, "$.exit_code: should be one of"),
        ({"unheard": 1}, "$.unheard: stands in no schema"),
        ({"findings": [{"check": "x"}]}, "$.findings[0]: lacks outcome"),
        ({"audit": {"seq": True, "hash": "0" * 64}}, "$.audit.seq: should be integer"),
        ({"audit": {"seq": 1, "hash": "zz"}}, "$.audit.hash: should match"),
        ({"release": 3}, "$.release: should be"),
        ({"steps": [{"name": "a", "outcome": "pass", "at_s": 0, "duration_s": -1}]}, "$.steps[0].duration_s: should be from"),
    ],
)  # fmt: skip
def test_the_check_can_fail(change: dict[str, Any], problem: str) -> None:
    story = Story(
        "verify", "gpu1", "r", [StepEnded("observe", Outcome.PASS, 0.1)], [Finding("a", Outcome.PASS, "m")]
    )
    document = printed(story)
    assert jsonschemas.problems(document, "document") == []
    found = jsonschemas.problems(document | change, "document")
    assert any(one.startswith(problem) for one in found), found


def test_an_error_is_a_document_too() -> None:
    document = printed(Story("deploy", "gpu1", "", [], [], error=LockedError("held by ann")))
    assert jsonschemas.problems(document, "document") == []
