"""The helper on the fleet's oldest Python, spoken to over its framed wire: it looks, writes, keeps and runs."""

from __future__ import annotations

import base64
import hashlib
from typing import TYPE_CHECKING, Any

import pytest

from tests.compatibility import interpreters
from tests.onhost import helper

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.onhost.helper import Helper

pytestmark = pytest.mark.real

OLD, NEW = b"#!/bin/bash\nexport A=1\n", b"#!/bin/bash\nexport A=2\n"


@pytest.fixture
def state(tmp_path: Path) -> str:
    return str(tmp_path / "state" / "svc")


@pytest.fixture
def there(tmp_path: Path, state: str) -> Iterator[Helper]:
    with helper.started("writing", tmp_path / "state" / "svc", python=interpreters.needed("3.9")) as started:
        assert started.call("lock", state=state, holder={"who": "me"}) == {}
        yield started


@pytest.fixture
def script(tmp_path: Path) -> Path:
    path = tmp_path / "serve.sh"
    path.write_bytes(OLD)
    return path


def digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def observed(there: Helper, state: str, *files: str) -> dict[str, Any]:
    found: dict[str, Any] = there.call(
        "observe", state=state, files=files, units=[], names=["A"], patterns=["^B"]
    )
    return found


def written(there: Helper, script: Path, before: bytes, after: bytes) -> Any:
    change = {
        "path": str(script),
        "before": digest(before),
        "b64": base64.b64encode(after).decode(),
        "check": "bash",
    }
    return there.call("files_write", changes=[change])


def test_it_is_the_oldest_python_that_answers(there: Helper, state: str) -> None:
    assert observed(there, state)["facts"]["python"].startswith("3.9.")


def test_it_writes_a_file_and_reads_it_again(there: Helper, state: str, script: Path) -> None:
    assert written(there, script, OLD, NEW) == {str(script): digest(NEW)}
    assert script.read_bytes() == NEW
    assert observed(there, state, str(script))["files"][str(script)]["sha256"] == digest(NEW)
    assert written(there, script, OLD, NEW)["kind"] == "changed"
    assert written(there, script, NEW, b"#!/bin/bash\nif\n")["kind"] == "invalid"
    assert script.read_bytes() == NEW


def test_it_keeps_releases_and_an_audit(there: Helper, state: str, script: Path) -> None:
    manifest = {
        "id": "20261130T000000-aaaa",
        "created": "2026-11-30T00:00:00+00:00",
        "parent": None,
        "verdict": "adopted",
    }
    assert there.call("release_save", state=state, manifest=manifest, files=[str(script)]) == {
        "id": manifest["id"]
    }
    assert there.call("set_current", state=state, id=manifest["id"]) == {}
    kept = there.call("release_read", state=state, id=manifest["id"])
    assert base64.b64decode(kept["files"][str(script)]["b64"]) == OLD
    assert observed(there, state)["state"]["current"] == manifest["id"]
    appended = there.call("audit_append", state=state, record={"id": "r1"}, expected=None, once=True)
    assert appended["seq"] == 1
    assert there.call("audit_place", state=state)["prev"] == appended["hash"]


def test_it_runs_a_job_to_its_end(there: Helper) -> None:
    job = there.call("job_start", argv=["/bin/sh", "-c", "echo one; exit 3"], env={}, cwd=None, stdin=None)[
        "job"
    ]
    lines: list[str] = []
    status = None
    while status is None:
        answer = there.call("job_poll", job=job, wait_s=5.0)
        lines, status = [*lines, *answer["lines"]], answer["exit"]
    assert (lines, status) == (["one"], 3)


LOOKS: list[tuple[str, dict[str, Any]]] = [
    ("machine", {"checkout": None}),
    ("listening", {"ports": [1]}),
    ("gpus", {}),
    ("xids", {}),
    ("engine", {"units": []}),
    ("units", {"units": []}),
    ("serving", {"units": [], "words": ["sglang"]}),
    ("journal", {"unit": "no-such-unit.service", "lines": 5, "since": None, "grep": None}),
    ("several", {"calls": [{"call": "ping", "args": {}}]}),
]


@pytest.mark.parametrize(("name", "asked"), LOOKS, ids=[name for name, _ in LOOKS])
def test_no_look_at_the_host_is_a_defect_there(there: Helper, name: str, asked: dict[str, Any]) -> None:
    answer = there.call(name, **asked)
    assert not (isinstance(answer, dict) and answer.get("kind") == "internal"), answer
