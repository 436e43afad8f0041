from __future__ import annotations

import datetime
import json
from typing import TYPE_CHECKING

import pytest

from runbook import command_line, opening
from runbook.request import Request
from tests.building import FLAGS, host

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "hosts").mkdir()
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("RUNBOOK_HOST", raising=False)
    return tmp_path


def test_an_unknown_host_is_said_before_a_missing_yes(
    directory: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (directory / "hosts" / "gpu1.yml").write_text("{}\n")
    assert command_line.run("deploy", host=["gpu11"], json=True) == 2
    error = json.loads(capsys.readouterr().out)["error"]
    assert error.startswith("no host named 'gpu11'; known hosts: gpu1")
    assert "hosts.adopt" in error


def test_the_manual_is_no_host(directory: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (directory / "hosts" / "example.yml").write_text("{}\n")
    assert command_line.run("hosts.check", host=["example"], json=True) == 2
    error = json.loads(capsys.readouterr().out)["error"]
    assert error == "hosts/example.yml is the manual of a host file and no host; known hosts: lab"


def test_the_ledger_remarks_a_misspelt_flag_of_the_command_line() -> None:
    said: list[str] = []
    asked = Request("plan", settings={"SGLANG_OPT_USE_MULTI_STREAM_OVRLAP": "0"})
    opening._overridden(host(), asked, say=said.append)
    assert said == [
        "warning: SGLANG_OPT_USE_MULTI_STREAM_OVRLAP on prefill, decode: no name that SGLang is known to read "
        "(--set on the command line); did you mean SGLANG_OPT_USE_MULTI_STREAM_OVERLAP? It ignores others in silence"
    ]


@pytest.mark.parametrize(
    ("value", "told"),
    [("maybe", ["(hosts/gpu1.yml); ask", "does not read (--set on the command line)"]), ("0", [])],
)
def test_what_the_ledger_remarks_names_what_says_it(value: str, told: list[str]) -> None:
    said: list[str] = []
    expired = FLAGS[0]._replace(expires=datetime.date(2020, 1, 1), owner="kernels")
    asked = Request("plan", settings={expired.name: value})
    opening._overridden(host(flags=(expired,)), asked, say=said.append)
    assert len(said) == len(told)
    assert all(part in text for part, text in zip(told, said, strict=True))


def test_the_ledger_says_nothing_of_flags_the_command_line_did_not_name() -> None:
    said: list[str] = []
    opening._overridden(host(), Request("plan", settings={"SGLANG_OPT_USE_TOPK_V2": None}), say=said.append)
    assert not said


@pytest.mark.parametrize("action", ["status", "releases", "logs"])
def test_without_a_host_file_nothing_is_started_to_look_at(
    directory: Path, capsys: pytest.CaptureFixture[str], action: str
) -> None:
    assert command_line.run(action) == 3
    first, *rest = capsys.readouterr().out.splitlines()
    assert first.startswith(f"no host file of yours in {directory / 'hosts'}: this is the lab")
    assert "the lab is not up" in "\n".join(rest)
    assert not (directory / ".lab").exists()


def test_json_of_a_lab_that_is_not_up_is_one_document(
    directory: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert command_line.run("status", json=True) == 3
    assert json.loads(capsys.readouterr().out)["error"].startswith("the lab is not up")


def test_of_several_hosts_each_is_told_under_its_name(
    directory: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert command_line.run("status", host=["gpu1", "gpu2"]) == 2
    told = capsys.readouterr().out.splitlines()
    assert told.index("== gpu1") < told.index("status gpu1: REFUSED (exit 2)") < told.index("== gpu2")
