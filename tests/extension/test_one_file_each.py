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


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """The package and its tasks in a directory of their own, and a host file that names what is not there yet."""
    shutil.copytree(CHECKOUT / "runbook", tmp_path / "runbook", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(CHECKOUT / "tasks.py", tmp_path)
    (tmp_path / "hosts").mkdir()
    (tmp_path / "hosts" / "gpu1.yml").write_text(HOST)
    return tmp_path


def add(copy: Path) -> None:
    for name in FILES:
        shutil.copy(ADDED / name, copy / "runbook" / name)


def python(copy: Path, *argv: str) -> subprocess.CompletedProcess[str]:
    """Python in the copy, whose package comes before the checkout's."""
    return subprocess.run(
        [sys.executable, *argv],
        cwd=copy,
        env={**os.environ, "PYTHONPATH": os.pathsep.join((str(copy), str(CHECKOUT)))},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def test_a_host_file_that_names_what_nobody_added_says_so(copy: Path) -> None:
    checked = python(copy, "-m", "runbook.program", "hosts.check")
    assert checked.returncode == 2
    assert "units.decode.health: should be a URL" in checked.stdout
    assert "validations[0].kind: should be sessions, or the name of another file" in checked.stdout


def test_each_is_one_file_and_a_deploy_uses_it(copy: Path) -> None:
    add(copy)
    assert python(copy, "-m", "runbook.program", "hosts.check").returncode == 0
    done = python(copy, "-m", "tests.extension.deploying", "hosts")
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


def test_an_edit_that_was_added_previews_a_file_too(copy: Path) -> None:
    add(copy)
    (copy / "serve.fish").write_text("exec engine\n")
    shown = python(copy, "-m", "runbook.program", "plan", "--file", "serve.fish", "--set", "NEW=1")
    assert "+set -gx NEW 1" in shown.stdout
