from __future__ import annotations

import io
import os
from typing import TYPE_CHECKING

from runbook import app, rollout
from runbook.events import Run
from runbook.options import Options
from runbook.request import Request
from runbook.view import View
from tests.test_after_the_write import refuse
from tests.test_rollout import a_host, work_on

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

    from runbook.story import Story


def _defective(told: Run, rollout_id: str) -> Story:
    with told.step("observe"):
        raise ZeroDivisionError("by nobody")


def document(directory: Path) -> dict[str, object]:
    request = Request("plan", json=True, directory=directory)
    return app.document_of(request, "gpu1", View(io.StringIO(), silent=True), Run(), _defective)


def test_a_defect_is_exit_70_and_its_traceback_is_kept(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    told = document(tmp_path)
    (kept,) = (tmp_path / ".runbook" / "defects").iterdir()
    assert (told["exit_code"], told["error"]) == (70, "by nobody")
    assert "ZeroDivisionError: by nobody" in kept.read_text()
    assert str(kept) in capsys.readouterr().err


def test_a_defect_in_a_directory_that_cannot_be_written_is_shown_and_still_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / ".runbook").write_text("in the way")
    assert document(tmp_path)["exit_code"] == 70
    shown = capsys.readouterr()
    assert "ZeroDivisionError: by nobody" in shown.err
    assert shown.out == ""


def test_a_defect_in_the_middle_of_a_rollout_keeps_plan_release_and_audit(tmp_path: Path) -> None:
    fake = a_host()
    refuse(fake, "record_start", ZeroDivisionError("by nobody"))
    request = Request("deploy", json=True, directory=tmp_path)
    view = View(io.StringIO(), silent=True)
    told = app.document_of(
        request, "gpu1", view, Run(), lambda run, name: rollout.deploy(work_on(fake), Options())
    )
    assert (told["exit_code"], told["release"]) == (70, fake.current)
    assert told["plan"]["changes"]
    assert told["audit"]["seq"] == 1


def test_the_tracebacks_of_the_last_defects_are_kept(tmp_path: Path) -> None:
    kept = tmp_path / ".runbook" / "defects"
    kept.mkdir(parents=True)
    for number in range(60):
        path = kept / f"old-{number}.txt"
        path.write_text("a traceback")
        os.utime(path, (number, number))
    document(tmp_path)
    assert len(list(kept.iterdir())) == app.DEFECTS
    assert (kept / "old-59.txt").exists()
    assert not (kept / "old-10.txt").exists()
