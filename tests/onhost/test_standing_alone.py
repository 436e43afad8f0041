"""The helper runs where nothing else of ours is: standard library only, Python 3.9."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import runbook.onhost
from runbook.bundle import helper_payload
from runbook.onhost import frames
from runbook.ssh import boot
from tests.compatibility import interpreters

if TYPE_CHECKING:
    from collections.abc import Iterator

SOURCES = sorted(Path(runbook.onhost.__file__).parent.glob("*.py"))
VERSIONS = ("3.9", "3.10", "3.11", "3.12", "3.13")


def imported(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "relative imports hide where a name comes from"
            yield str(node.module)


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.stem)
def test_a_module_is_python_3_9_and_imports_the_standard_library_alone(path: Path) -> None:
    tree = ast.parse(path.read_text(encoding="utf-8"), feature_version=(3, 9))
    foreign = {
        name
        for name in imported(tree)
        if name.partition(".")[0] not in sys.stdlib_module_names and not name.startswith("runbook.onhost")
    }
    assert not foreign


def test_there_are_modules_to_check() -> None:
    assert {"frames", "serve", "files", "units", "warden"} <= {path.stem for path in SOURCES}


@pytest.mark.real
@pytest.mark.parametrize("compiled", [True, False])
@pytest.mark.parametrize("version", VERSIONS)
def test_the_payload_starts_and_answers_under_every_python_here(
    version: str, compiled: bool, tmp_path: Path
) -> None:
    argv = [interpreters.needed(version), "-I", "-S", "-c", boot_source()]
    asked = {"state": str(tmp_path / "state"), "files": [], "units": [], "names": [], "patterns": []}
    sent = b"".join(
        (
            frames.encode({"mode": "writing", "state": str(tmp_path / "state")}),
            frames.encode(
                {"id": 1, "call": "lock", "args": {"state": str(tmp_path / "state"), "holder": {"who": "me"}}}
            ),
            frames.encode({"id": 2, "call": "observe", "args": asked}),
        )
    )
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as helper:
        assert helper.stdin is not None
        assert helper.stdout is not None
        greeting = boot.find_greeting(_until(helper, b";"), "abc")
        assert greeting is not None
        helper.stdin.write(boot.payload_frame(helper_payload(greeting.magic if compiled else b"")) + sent)
        helper.stdin.flush()
        answers = frames.read(helper.stdout)
        assert next(answers)["ok"]["python"].startswith(".".join(map(str, greeting.version)))
        assert next(answers) == {"id": 1, "ok": {}}
        assert next(answers)["ok"]["state"]["lock"] == {"who": "me"}
        helper.stdin.close()
        assert helper.wait(timeout=20) == 0


def boot_source() -> str:
    import shlex

    return shlex.split(boot.boot_command("python3", "abc"))[-1]


def _until(helper: subprocess.Popen[bytes], end: bytes) -> bytes:
    assert helper.stdout is not None
    got = b""
    while not got.endswith(end):
        byte = helper.stdout.read(1)
        assert byte, "the helper ended before its greeting"
        got += byte
    return got
