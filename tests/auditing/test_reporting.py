"""`invoke report` on mirrors here."""

from __future__ import annotations

import json
import webbrowser
from typing import TYPE_CHECKING, Any

import pytest

from runbook import auditing, extras
from runbook.audit import directory
from runbook.audit.mirroring import mirror
from runbook.errors import PreflightError
from runbook.program import spelled_out
from runbook.work import utc_now
from tests import jsonschemas
from tests.audit.chains import ChainWire, chain_of
from tests.building import host
from tests.report.made import HOSTILE, record

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.real  # matplotlib asks fontconfig when it is loaded for the first time


@pytest.fixture
def project(tmp_path: Path) -> Path:
    content = chain_of(
        [record("first", id="20261130T074129-aaaa"), record("gpu1", id="20261130T080000-bbbb")]
    )
    mirror(ChainWire(content), host(name="gpu1"), directory(tmp_path), utc_now())  # type: ignore[arg-type]
    return tmp_path


def report(project: Path, **given: Any) -> int:
    return auditing.run("report", directory=project, **({"format": "html"} | given))


def test_the_youngest_rollout_is_reported_where_none_is_named(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert report(project) == 0
    path = project / ".runbook" / "reports" / "gpu1-20261130T080000-bbbb.html"
    assert str(path) in capsys.readouterr().out
    text = path.read_text()
    assert "20261130T080000-bbbb" in text
    assert "each of 2 is the one that was written" in text


def test_the_beginning_of_an_id_is_enough_and_output_names_the_file(project: Path, tmp_path: Path) -> None:
    assert report(project, id="20261130T07", output=str(tmp_path / "page.html")) == 0
    assert "20261130T074129-aaaa" in (tmp_path / "page.html").read_text()


@pytest.mark.parametrize(
    "given",
    [
        {"id": "2026"},
        {"id": "nope"},
        {"format": "pdf"},
        {"format": "markdown", "open": True},
        {"output": "/nowhere/x.html"},
    ],
)
def test_what_makes_no_sense_is_refused_and_writes_nothing(project: Path, given: dict[str, Any]) -> None:
    assert report(project, **given) == 2
    assert not (project / ".runbook" / "reports").exists() or not list(
        (project / ".runbook" / "reports").iterdir()
    )


def test_markdown_goes_to_stdout(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert report(project, format="markdown") == 0
    assert capsys.readouterr().out.startswith("**deploy gpu1: FAIL**")


@pytest.mark.parametrize("given", [{}, {"format": "markdown"}])
def test_the_document_says_where_it_stands_or_holds_it(
    project: Path, capsys: pytest.CaptureFixture[str], given: dict[str, Any]
) -> None:
    assert report(project, json=True, **given) == 0
    document = json.loads(capsys.readouterr().out)
    assert jsonschemas.problems(document, "report") == []
    assert (document["output"] is None) is bool(given)
    assert (document["text"] is None) is not bool(given)


@pytest.mark.parametrize(
    ("action", "given", "definition"),
    [
        ("audit.list", {}, "auditList"),
        ("audit.show", {"id": "20261130T07"}, "auditRecord"),
        ("audit.export", {"format": "jsonl"}, "auditExport"),
        ("audit.export", {"format": "junit"}, "auditExport"),
        ("audit.export", {"format": "html", "id": "20261130T07"}, "auditExport"),
        ("audit.verify", {}, "document"),
        ("audit.show", {"id": "nope"}, "document"),
    ],
)
def test_what_the_audit_tasks_print_stands_in_the_schema(
    project: Path, capsys: pytest.CaptureFixture[str], action: str, given: dict[str, Any], definition: str
) -> None:
    auditing.run(action, directory=project, json=True, **given)
    document = json.loads(capsys.readouterr().out)
    assert jsonschemas.problems(document, definition) == []
    assert jsonschemas.problems(document) == []


def test_a_browser_is_opened_on_the_page(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []
    monkeypatch.setattr(webbrowser, "open", opened.append)
    assert report(project, open=True) == 0
    assert opened[0].startswith("file:///")
    assert opened[0].endswith("bbbb.html")


def test_without_a_way_to_get_matplotlib_the_page_is_written_all_the_same(
    project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refuse(*args: object) -> None:
        raise PreflightError("no network")

    monkeypatch.setattr(extras, "ensure", refuse)
    assert report(project) == 0
    assert "no curves: no network" in capsys.readouterr().out


def test_a_record_cannot_choose_where_its_report_is_written(tmp_path: Path) -> None:
    content = chain_of([record(HOSTILE, id="../../../etc/passwd", host="../up")])
    mirror(ChainWire(content), host(name="gpu1"), directory(tmp_path), utc_now())  # type: ignore[arg-type]
    assert report(tmp_path) == 0
    (written,) = (tmp_path / ".runbook" / "reports").iterdir()
    assert written.name == "-up--etc-passwd.html"


@pytest.mark.parametrize(
    ("words", "want"),
    [
        (["report", "2026", "--open"], ["report", "--id=2026", "--open"]),
        (["report", "--open"], ["report", "--open"]),
        (["report"], ["report"]),
        (["audit.show", "-v", "20261130T213257"], ["audit.show", "--verbose", "--id=20261130T213257"]),
        (["audit.show", "--host", "2026", "2027"], ["audit.show", "--host", "2026", "--id=2027"]),
        (
            ["audit.show", "--host=2026", "20261130T213257-1f"],
            ["audit.show", "--host=2026", "--id=20261130T213257-1f"],
        ),
        (["report", "--format", "markdown", "2026"], ["report", "--format", "markdown", "--id=2026"]),
        (["report", "--format", "markdown"], ["report", "--format", "markdown"]),
        (["audit.export", "2026", "--json"], ["audit.export", "--id=2026", "--json"]),
        (["audit.show", "--json", "gpu1"], ["audit.show", "--json", "gpu1"]),
        (["audit.show", "--json", "plan"], ["audit.show", "--json", "plan"]),
        (["deploy", "-v"], ["deploy", "--verbose"]),
        (["plan", "2026"], ["plan", "2026"]),
        ([], []),
    ],
)
def test_short_forms_are_spelled_out(words: list[str], want: list[str]) -> None:
    assert spelled_out(words, {"--host", "--format"}) == want
