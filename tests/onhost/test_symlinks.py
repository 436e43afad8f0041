"""Symlinks laid where we write, by whoever could: nothing behind them is changed, and nothing is read instead."""

from __future__ import annotations

import base64
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from runbook.errors import PreflightError, RunbookError
from runbook.onhost import write
from runbook.onhost.calls import Refusal
from runbook.onhost.files import digest

if TYPE_CHECKING:
    from runbook.ssh import InProcessWire

OLD, NEW = b"export A=0\n", b"export A=1\n"
DIGEST = "ab" * 32
LOCK = {"who": "a test"}
PIECE: dict[str, Any] = {"digest": DIGEST, "offset": 0, "total": 9, "b64": base64.b64encode(b"half").decode()}
REFUSED: dict[str, tuple[str, dict[str, Any]]] = {
    "lock": ("lock", {"holder": LOCK}),
    "audit.jsonl": ("audit_append", {"record": {"id": "x"}}),
    f"cache/{DIGEST}.part": ("cache_put", PIECE),
}
REPLACED: dict[str, tuple[str, dict[str, Any]]] = {
    "inflight.json": ("inflight", {"doc": {"rollout": "x"}}),
    "inflight.json.new": ("inflight", {"doc": {"rollout": "x"}}),
    "starts.json": ("record_start", {"unit": "a.service", "pid": os.getpid(), "environ": {}}),
    "starts.json.new": ("record_start", {"unit": "a.service", "pid": os.getpid(), "environ": {}}),
}


@pytest.fixture
def precious(tmp_path: Path) -> Path:
    path = tmp_path / "precious"
    path.write_bytes(b"precious\n")
    path.chmod(0o600)
    return path


def is_whole(precious: Path) -> bool:
    return precious.read_bytes() == b"precious\n" and precious.stat().st_mode & 0o777 == 0o600


def laid(state: str, name: str, precious: Path) -> Path:
    link = Path(state, name)
    Path(state).mkdir(mode=0o700, parents=True)
    link.parent.mkdir(mode=0o700, exist_ok=True)
    link.symlink_to(precious)
    return link


@pytest.mark.parametrize("name", sorted(REFUSED))
def test_what_is_opened_to_be_written_to_is_not_followed(
    name: str, writing: InProcessWire, state: str, precious: Path
) -> None:
    laid(state, name, precious)
    call, args = REFUSED[name]
    with pytest.raises(RunbookError):
        writing.call(call, state=state, **args)
    assert is_whole(precious)


@pytest.mark.real
@pytest.mark.skipif(not Path("/proc/self").exists(), reason="needs a process file system")
@pytest.mark.parametrize("name", sorted(REPLACED))
def test_what_is_replaced_is_replaced_and_not_what_it_led_to(
    name: str, writing: InProcessWire, state: str, precious: Path
) -> None:
    laid(state, name, precious)
    call, args = REPLACED[name]
    writing.call(call, state=state, **args)
    assert is_whole(precious)
    assert not Path(state, name).is_symlink()


def test_an_audit_behind_a_symlink_is_not_read(writing: InProcessWire, state: str, precious: Path) -> None:
    laid(state, "audit.jsonl", precious)
    with pytest.raises(RunbookError):
        writing.call("audit_read", state=state)


@pytest.fixture
def script(tmp_path: Path) -> Path:
    path = tmp_path / "serve.sh"
    path.write_bytes(OLD)
    path.chmod(0o755)
    return path


def change(path: Path, content: bytes = NEW) -> dict[str, Any]:
    return {"path": str(path), "before": digest(OLD), "b64": base64.b64encode(content).decode()}


@pytest.mark.parametrize("name", [".serve.sh.runbook-new", ".serve.sh.runbook-old"])
def test_a_symlink_laid_beside_a_script_is_taken_away(
    name: str, writing: InProcessWire, script: Path, precious: Path
) -> None:
    script.with_name(name).symlink_to(precious)
    writing.call("files_write", changes=[change(script)])
    assert (script.read_bytes(), script.stat().st_mode & 0o777) == (NEW, 0o755)
    assert is_whole(precious)


def test_a_symlink_laid_while_we_write_gets_neither_mode_nor_owner_nor_bytes(
    script: Path, precious: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever may write the script's directory is as fast as can be: between the last byte and the mode."""
    written = write._write_all

    def raced(descriptor: int, content: bytes) -> None:
        written(descriptor, content)
        fresh = script.with_name(".serve.sh.runbook-new")
        fresh.unlink()
        fresh.symlink_to(precious)

    monkeypatch.setattr(write, "_write_all", raced)
    with pytest.raises(Refusal, match="reads back as"):
        write.write([write.Change.parse({**change(script), "mode": 0o777})])
    assert is_whole(precious)
    assert script.read_bytes() == OLD


def test_a_script_whose_symlink_was_turned_elsewhere_has_changed(
    writing: InProcessWire, script: Path, precious: Path
) -> None:
    link = script.with_name("link.sh")
    link.symlink_to("serve.sh")
    asked = change(link)
    link.unlink()
    link.symlink_to(precious)
    with pytest.raises(RunbookError, match="changed since it was read"):
        writing.call("files_write", changes=[asked])
    assert is_whole(precious)


@pytest.mark.parametrize("name", ["releases/../../up", "../r1", "r1/../../x", "", ".hidden", "-rf", "a\nb"])
def test_a_release_is_named_and_no_path(name: str, locked: InProcessWire, state: str) -> None:
    with pytest.raises(PreflightError, match="is no name of a release"):
        locked.call("set_current", state=state, id=name)
