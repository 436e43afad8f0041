"""A new probe, a new edit and a new validation are one new file each: laid beside the others, and named in a host file."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.real

CHECKOUT = Path(__file__).parents[2]
ADDED = Path(__file__).parent / "added"
FILES = ("edits/fish_script.py", "probes/metrics.py", "validations/tools.py")
HOST = """\
ssh: gpu1.example.net
units:
  decode:
    unit: decode.service
    script: /root/serve_decode.fish
    health: metrics://127.0.0.1:30002/metrics
  router: {unit: router.service, url: http://127.0.0.1:30001}
model: m
flags:
  NEW: {value: "1", units: [decode], why: because}
  OLD: {absent: true, units: [decode], why: because}
wait: {health: {attempts: 2, every_s: 1, timeout_s: 1}, ready: {attempts: 2, every_s: 1, timeout_s: 1}, hold_s: 0}
validations:
  - {name: tools8, kind: tools, sessions: 8, rounds: 1, program: /opt/toolcheck}
"""


@pytest.fixture(scope="module")
def extended(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the package with the three files in it."""
    place = tmp_path_factory.mktemp("extended")
    shutil.copytree(CHECKOUT / "runbook", place / "runbook", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(CHECKOUT / "tasks.py", place)
    for name in FILES:
        assert not (place / "runbook" / name).exists()
        shutil.copy(ADDED / name, place / "runbook" / name)
    return place


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    """An operator's, with a host file that names what the three files are for."""
    (tmp_path / "hosts").mkdir()
    (tmp_path / "hosts" / "gpu1.yml").write_text(HOST)
    return tmp_path


def python(package: Path, directory: Path, *argv: str) -> subprocess.CompletedProcess[str]:
    """Python in the operator's directory; runbook is the one beside `package`, the tests are the checkout's."""
    return subprocess.run(
        [sys.executable, *argv],
        cwd=directory,
        env={**os.environ, "PYTHONPATH": os.pathsep.join((str(package), str(CHECKOUT)))},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def test_a_host_file_that_names_what_nobody_added_says_so(directory: Path) -> None:
    checked = python(CHECKOUT, directory, "-m", "runbook", "hosts.check")
    assert checked.returncode == 2
    assert "units.decode.health: should be a URL" in checked.stdout
    assert "validations[0].kind: should be sessions, or the name of another file" in checked.stdout


def test_each_is_one_file_and_a_deploy_uses_it(extended: Path, directory: Path) -> None:
    done = python(extended, directory, "-m", "tests.extension.deploying", "hosts")
    assert done.returncode == 0, done.stderr
    good, corrupt, silent = json.loads(done.stdout)
    assert (good["outcome"], good["error"], good["restarts"]) == ("pass", None, 1)
    assert good["file"] == "#!/usr/bin/fish\nset -gx NEW 1\nset -gx KEPT 1\nexec engine --port 30002\n"
    assert good["environ"] == {"NEW": "1", "KEPT": "1"}
    assert validation(good) == {"name": "tools8", "sessions": 8, "counts": {"ok": 8, "bad": 0}, "corrupt": 0}
    assert validation(corrupt)["corrupt"] == 1
    assert (corrupt["outcome"], corrupt["environ"]) == ("fail", {"OLD": "1", "KEPT": "1"}), "rolled back"
    assert silent["outcome"] == "fail"
    assert (
        "decode: HTTP 200, num_running_reqs from metrics://127.0.0.1:30002/metrics (try 2 of 2"
        in silent["error"]
    )


def validation(deployed: dict[str, Any]) -> dict[str, Any]:
    (found,) = deployed["validations"]
    return {key: found[key] for key in ("name", "sessions", "counts", "corrupt")}


def test_an_edit_that_was_added_previews_a_file_too(extended: Path, directory: Path) -> None:
    (directory / "serve.fish").write_text("exec engine\n")
    shown = python(extended, directory, "-m", "runbook", "plan", "--file", "serve.fish", "--set", "NEW=1")
    assert "+set -gx NEW 1" in shown.stdout
