"""Names from a command line that mean something to a shell, a path or a terminal: refused, shown harmless, never obeyed."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

import tasks
from runbook.program import RunbookProgram

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.real

HOST = """\
ssh: {address: 127.0.0.1, port: 1}
model: m
units: {server: {unit: s.service, script: /srv/s.sh, url: "http://127.0.0.1:1"}}
"""
HOSTILE = (
    "../../etc/passwd",
    "..",
    "-rf",
    "$(touch pwned)`touch pwned`'; touch pwned; '\ntouch pwned\n",
    "\x1b[2J\u202e",
    "x" * 10_000,
    "caf\u00e9 \udcff",
)
LINES = {
    "a host": ["status", "--host={}"],
    "a unit": ["logs", "--host=gpu1", "--unit={}"],
    "a unit to restart": ["restart", "--host=gpu1", "--unit={}", "--yes"],
    "a release": ["rollback", "--host=gpu1", "--to={}", "--yes"],
    "a flag": ["plan", "--host=gpu1", "--set={}=1"],
    "a flag's end": ["plan", "--host=gpu1", "--unset={}"],
    "a result to keep": ["bench", "--host=gpu1", "--save={}"],
    "a baseline": ["bench", "--host=gpu1", "--against={}"],
    "a record": ["audit.show", "--id={}"],
    "a report": ["report", "--id={}"],
    "an endpoint": ["validate", "--url=http://127.0.0.1:1/{}"],
    "a new host": ["hosts.adopt", "--host={}"],
    "an address to adopt": ["hosts.adopt", "--address={}"],
    "a time": ["audit.list", "--since={}"],
}


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "hosts").mkdir()
    (tmp_path / "hosts" / "gpu1.yml").write_text(HOST, "utf-8")
    (tmp_path / "home").mkdir()
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("what", sorted(LINES))
@pytest.mark.parametrize("value", HOSTILE, ids=range(len(HOSTILE)))
def test_a_hostile_name_is_a_clear_refusal(
    what: str, value: str, project: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        RunbookProgram(namespace=tasks.namespace).run(
            ["invoke", *(word.format(value) for word in LINES[what])]
        )
    said = "".join(capfd.readouterr())
    assert ended.value.code in (2, 3, 7), said
    assert said.strip()
    assert "Traceback" not in said
    assert re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e]", said) is None
    made = {path.name for path in project.rglob("*")} - {"hosts", "gpu1.yml", "home", ".runbook"}
    assert not {name for name in made if "pwned" in name or "passwd" in name}, made


@pytest.mark.parametrize(
    "line",
    [
        ["audit.export", "--output={}"],
        ["audit.verify", "--allowed-signers={}"],
        ["bench", "--host=gpu1", "--output-file={}"],
        ["report", "--output={}"],
        ["plan", "--file={}", "--set=A=1"],
        ["validate", "--host=gpu1", "--replay={}"],
    ],
    ids=lambda line: " ".join(line),
)
def test_a_name_too_long_for_a_file_is_a_clear_refusal(
    line: list[str], project: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        RunbookProgram(namespace=tasks.namespace).run(
            ["invoke", *(word.format("x" * 10_000) for word in line)]
        )
    said = "".join(capfd.readouterr())
    assert ended.value.code == 2, said
    assert "Traceback" not in said
