"""The lab's switch where no lab was ever laid, and its documents."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from runbook import development, labtasks
from tests import jsonschemas

if TYPE_CHECKING:
    from pathlib import Path

REAL = {"address": "192.0.2.10", "ssh": "ssh root@192.0.2.10", "host_file": "hosts/real.yml", "pid": 7}


def printed(capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(capsys.readouterr().out)
    assert jsonschemas.problems(document) == []
    return document


def test_a_lab_that_was_never_laid_is_not_up(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert labtasks.status(tmp_path) == 3
    assert capsys.readouterr().out == "the lab is not up\n"
    assert labtasks.down(tmp_path) == 0
    assert capsys.readouterr().out == "the lab was not up\n"


def test_the_documents_say_what_stands(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert labtasks.status(tmp_path, json=True, real=REAL) == 3
    document = printed(capsys)
    assert (document["exit_code"], document["lab"], document["real"]) == (3, None, REAL)
    assert labtasks.down(tmp_path, json=True) == 0
    assert printed(capsys)["outcome"] == "pass"


def test_a_real_host_is_told_of_beside_the_lab(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    labtasks.status(tmp_path, real=REAL)
    assert capsys.readouterr().out.splitlines()[1:] == [
        "the real host is up: --host real",
        "  ssh root@192.0.2.10",
    ]


def test_outside_of_a_checkout_no_real_host_is_booted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert development.real_host("up", tmp_path, json=True, checkout=tmp_path) == 2
    assert "needs a checkout" in printed(capsys)["error"]
    assert development.real_host_standing(tmp_path, checkout=tmp_path) is None


@pytest.mark.real
def test_a_look_at_the_real_host_that_was_interrupted_is_no_look(tmp_path: Path) -> None:
    room = tmp_path / "tests/system/real"
    room.mkdir(parents=True)
    for package in (room, room.parent, room.parent.parent):
        (package / "__init__.py").touch()
    (room / "__main__.py").write_text("raise SystemExit(130)")
    (tmp_path / ".lab/real").mkdir(parents=True)
    (tmp_path / ".lab/real/standing.json").touch()
    with pytest.raises(KeyboardInterrupt):
        development.real_host_standing(tmp_path, checkout=tmp_path)
