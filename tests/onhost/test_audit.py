"""The chain: each record names the one before it, and no crash breaks it."""

from __future__ import annotations

import base64
import hashlib
import json
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from runbook.errors import FileChangedError
from runbook.onhost import audit
from runbook.onhost.calls import Refusal
from tests.sshd import script

if TYPE_CHECKING:
    from runbook.ssh import InProcessWire

pytestmark = pytest.mark.real  # appending tells `logger`


def chain(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="ascii").splitlines()]


def holds(records: list[dict[str, Any]]) -> bool:
    before = [audit.GENESIS, *(record["hash"] for record in records)]
    numbered = [record["seq"] for record in records] == list(range(1, len(records) + 1))
    linked = all(record["prev"] == prev for record, prev in zip(records, before, strict=False))
    return numbered and linked and all(record["hash"] == audit.digest(record) for record in records)


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


@pytest.fixture(autouse=True)
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A `logger` and a `journalctl` that only remember what they were told; nothing reaches this machine's journal."""
    root = tmp_path / "programs"
    root.mkdir()
    (root / "journal").touch()
    script(root / "logger", f'echo "$*" >>{root}/logged\n')
    script(root / "journalctl", f'echo "$*" >{root}/asked; cat {root}/journal\n')
    monkeypatch.setenv("PATH", f"{root}{os.pathsep}{os.environ['PATH']}")
    return root


def test_records_are_chained_by_their_hashes(writing: InProcessWire, state: str) -> None:
    first = writing.call("audit_append", state=state, record={"action": "deploy"})
    second = writing.call("audit_append", state=state, record={"action": "rollback", "why": "é"})
    records = chain(Path(state, "audit.jsonl"))
    assert [(told["seq"], told["hash"]) for told in (first, second)] == [
        (one["seq"], one["hash"]) for one in records
    ]
    assert holds(records)


def test_a_record_cannot_choose_its_own_place(writing: InProcessWire, state: str) -> None:
    writing.call("audit_append", state=state, record={"seq": 99, "prev": "x", "hash": "y"})
    assert holds(chain(Path(state, "audit.jsonl")))


def test_appenders_take_turns(tmp_path: Path) -> None:
    path = tmp_path / "audit.jsonl"
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda number: audit.append(str(path), {"n": number}), range(40)))
    assert holds(chain(path))


def test_a_record_torn_by_a_crash_stays_and_the_chain_goes_on_after_it(tmp_path: Path) -> None:
    path = tmp_path / "audit.jsonl"
    audit.append(str(path), {"n": 1})
    with path.open("ab") as file:
        file.write(b'{"n": 2, "se')
    audit.append(str(path), {"n": 3})
    lines = path.read_bytes().splitlines()
    assert lines[1] == b'{"n": 2, "se'
    assert holds([json.loads(lines[0]), json.loads(lines[2])])
    assert json.loads(lines[2])["torn"] == sha256(lines[1])


def test_a_record_that_does_not_fit_leaves_no_half(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "audit.jsonl"
    audit.append(str(path), {"n": 1})
    before = path.read_bytes()
    write = os.write
    monkeypatch.setattr(os, "write", lambda descriptor, line: write(descriptor, line[:10]))
    with pytest.raises(Refusal) as caught:
        audit.append(str(path), {"n": 2})
    assert caught.value.kind == "no-space"
    assert path.read_bytes() == before


def test_a_copy_is_continued_where_it_is_the_beginning_of_the_chain(
    writing: InProcessWire, state: str
) -> None:
    assert writing.call("audit_read", state=state) == {"size": 0, "same": False, "b64": ""}
    for number in range(3):
        writing.call("audit_append", state=state, record={"n": number})
    whole = Path(state, "audit.jsonl").read_bytes()
    here = whole[:100]
    answer = writing.call("audit_read", state=state, offset=100, sha256=sha256(here))
    assert (answer["same"], answer["size"]) == (True, len(whole))
    assert here + base64.b64decode(answer["b64"]) == whole


@pytest.mark.parametrize("here", [b"{}\n", b"x" * 4096])
def test_a_copy_that_is_not_its_beginning_is_told_so(writing: InProcessWire, state: str, here: bytes) -> None:
    writing.call("audit_append", state=state, record={"n": 1})
    assert not writing.call("audit_read", state=state, offset=len(here), sha256=sha256(here))["same"]


def test_one_answer_is_bounded(writing: InProcessWire, state: str, monkeypatch: pytest.MonkeyPatch) -> None:
    writing.call("audit_append", state=state, record={"n": 1})
    monkeypatch.setattr(audit, "LIMIT_BYTES", 10)
    assert len(base64.b64decode(writing.call("audit_read", state=state)["b64"])) == 10


def test_a_signed_record_is_taken_only_in_the_place_it_was_signed_for(
    writing: InProcessWire, state: str
) -> None:
    here = writing.call("audit_place", state=state)
    writing.call("audit_append", state=state, record={"n": 1}, expected=here)
    with pytest.raises(FileChangedError, match="the next is #2"):
        writing.call("audit_append", state=state, record={"n": 2}, expected=here)
    assert len(chain(Path(state, "audit.jsonl"))) == 1


def test_a_record_owed_by_another_is_written_once(writing: InProcessWire, state: str) -> None:
    owed = {"id": "crashed"}
    assert not writing.call("audit_append", state=state, record=owed, once=True)["known"]
    assert writing.call("audit_append", state=state, record=owed, once=True) == {"known": True}
    assert len(chain(Path(state, "audit.jsonl"))) == 1


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_what_json_has_no_word_for_is_in_no_record(tmp_path: Path, value: float) -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        audit.append(str(tmp_path / "audit.jsonl"), {"n": value})


def test_the_head_goes_to_the_journal(writing: InProcessWire, state: str, programs: Path) -> None:
    told = writing.call("audit_append", state=state, record={"n": 1})
    said = (programs / "logged").read_text().strip()
    assert said == f"-t runbook-audit -- {state} #1 {told['hash']}"
    assert told["journal"] == ""


def test_a_host_without_logger_keeps_the_record_all_the_same(
    writing: InProcessWire, state: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    told = writing.call("audit_append", state=state, record={"n": 1})
    assert told["seq"] == 1
    assert "logger" in told["journal"]


def test_the_journals_heads_are_those_of_this_chain(
    writing: InProcessWire, state: str, programs: Path
) -> None:
    mine, other = "a" * 64, "b" * 64
    text = (
        f"{state} #1 {mine}\n/elsewhere #2 {other}\n{state} #x {mine}\n{state} #2 {other}\n-- No entries --\n"
    )
    (programs / "journal").write_text(text)
    assert writing.call("audit_heads", state=state) == {"heads": [[1, mine], [2, other]], "detail": ""}
    asked = (programs / "asked").read_text()
    assert "--identifier=runbook-audit" in asked
    assert f"_UID={os.geteuid()}" in asked


def test_a_host_whose_journal_is_silent_says_why(
    writing: InProcessWire, state: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "knows nothing" in writing.call("audit_heads", state=state)["detail"]
    monkeypatch.setenv("PATH", "/nowhere")
    assert writing.call("audit_heads", state=state) == {
        "heads": [],
        "detail": "no program journalctl on this host",
    }
