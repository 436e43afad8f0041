from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from runbook import fleet
from runbook.request import Request

if TYPE_CHECKING:
    from pathlib import Path

# A port of loopback where nobody listens: refused at once, on this machine.
FILE = """\
service: s
ssh: {{address: 127.0.0.1, port: {port}, user: nobody, known_hosts: /dev/null, config: /dev/null}}
units:
  one: {{unit: one.service, script: /root/one.sh, url: "http://127.0.0.1:1"}}
model: m
flags: {{}}
"""


def hosts(directory: Path, *names: str) -> Path:
    (directory / "hosts").mkdir()
    for name in names:
        (directory / "hosts" / f"{name}.yml").write_text(FILE.format(port=1))
    return directory


@pytest.mark.parametrize(
    ("names", "asked", "want"),
    [
        (("gpu1", "gpu2", "lab"), (), ("gpu1", "gpu2")),
        (("gpu1", "lab"), (), ("gpu1",)),
        (("lab",), (), ()),
        (("gpu1", "gpu2"), ("gpu1",), ()),
    ],
)
def test_status_means_every_host_but_the_lab_where_it_names_none(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    names: tuple[str, ...],
    asked: tuple[str, ...],
    want: tuple[str, ...],
) -> None:
    monkeypatch.delenv("RUNBOOK_HOST", raising=False)
    request = Request("status", hosts=asked, directory=hosts(tmp_path, *names))
    assert fleet.names(request) == want
    assert fleet.names(Request("releases", hosts=asked, directory=tmp_path)) == ()


@pytest.mark.real
def test_hosts_that_do_not_answer_are_said_each_on_a_line_and_the_exit_code_is_the_worst(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    request = Request("status", directory=hosts(tmp_path, "gpu1", "gpu2"))
    assert fleet.status(request, ("gpu1", "gpu2")) == 7
    lines = capsys.readouterr().out.splitlines()
    assert [line.split(":")[0] for line in lines] == ["gpu1", "gpu2"]


@pytest.mark.real
def test_the_document_of_many_hosts_is_a_list(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    request = Request("status", directory=hosts(tmp_path, "gpu1", "gpu2"), json=True)
    fleet.status(request, ("gpu1", "gpu2"))
    documents = json.loads(capsys.readouterr().out)
    assert [(one["host"], one["exit_code"]) for one in documents] == [("gpu1", 7), ("gpu2", 7)]
