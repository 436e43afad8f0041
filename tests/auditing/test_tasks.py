"""The audit tasks on mirrors here, as the command line runs them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

import pytest

import tasks
from runbook import auditing
from runbook.audit import directory, path_of
from runbook.audit.appending import append
from runbook.audit.mirroring import mirror
from runbook.audit.owed import Owed
from runbook.audit.signing import Signer
from runbook.auditing import listing
from runbook.program import RunbookProgram
from runbook.work import utc_now
from tests import jsonschemas
from tests.audit.chains import VARIED, ChainWire, chain_of, three
from tests.building import host

if TYPE_CHECKING:
    from pathlib import Path

FAILED = {"schema": 1, "id": "20261130T090000-aaaa", "host": "gpu2", "action": "verify", "outcome": "fail", "exit_code": 1,
          "started": "2026-11-30T09:00:00.000+00:00", "operator": {"who": "bob@desk"}, "reason": "look\x1b[31m"}  # fmt: skip


@pytest.fixture
def project(tmp_path: Path) -> Path:
    for name, content in (("gpu1", three()), ("gpu2", chain_of([FAILED]))):
        mirror(ChainWire(content), host(name=name), directory(tmp_path), utc_now())  # type: ignore[arg-type]
    return tmp_path


def run(project: Path, action: str, **given: Any) -> int:
    return auditing.run(action, directory=project, **given)


def document(capsys: pytest.CaptureFixture[str]) -> Any:
    return json.loads(capsys.readouterr().out)


# ------------------------------------------------------------------ list


def test_a_list_has_a_line_a_rollout(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(project, "audit.list") == 0
    head, *lines = capsys.readouterr().out.splitlines()
    assert head.split() == ["started", "host", "action", "outcome", "id", "operator", "release", "reason"]
    assert len(lines) == 4
    assert lines[-1].split()[:5] == ["2026-11-30", "09:00:00", "gpu2", "verify", "fail"]
    assert "\x1b" not in lines[-1]


def test_a_list_tears_no_id_in_two_on_a_narrow_terminal() -> None:
    row = {"started": "2026-11-30T09:00:00.000+00:00", "host": "gpu2", "action": "verify", "ended_as": "pass", "seq": 1,
           "release": "20261130T080000-bbbb", "rolled_back_to": None, "id": FAILED["id"], "operator": "bob@desk",
           "reason": "to see whether it holds"}  # fmt: skip
    assert listing.table([row], 60) == [
        "2026-11-30 09:00:00  gpu2  verify  pass",
        "    20261130T090000-aaaa by bob@desk; release",
        "      20261130T080000-bbbb; reason to see whether it holds",
    ]
    assert len(listing.table([row], 200)) == 2


@pytest.mark.parametrize(
    ("fields", "cell"),
    [
        ({"ended_as": "declined", "rolled_back_to": None}, "declined"),
        ({"ended_as": "fail", "rolled_back_to": "r1"}, "fail, back"),
    ],
)
def test_a_list_says_how_a_rollout_ended_and_that_it_went_back(fields: dict[str, Any], cell: str) -> None:
    names = ("started", "host", "action", "id", "operator", "reason", "release")
    fields = {"seq": 1, **fields}
    _, line = listing.table([{**dict.fromkeys(names), **fields}])
    assert f"  {cell}  " in line


@pytest.mark.parametrize("action", ["audit.list", "audit.show"])
def test_a_damaged_copy_is_shown_with_a_warning(
    project: Path, capsys: pytest.CaptureFixture[str], action: str
) -> None:
    assert run(project, action, host=["gpu2"]) == 0
    assert "!!" not in capsys.readouterr().out
    copy = path_of(project, "gpu2")
    copy.write_bytes(copy.read_bytes().replace(b'"outcome":"fail"', b'"outcome":"pass"'))
    assert run(project, action, host=["gpu2"]) == 0
    warning = next(line for line in capsys.readouterr().out.splitlines() if line.startswith("!! "))
    assert "record #1" in warning
    assert f"{copy}: what is shown of it may be false" in warning


@pytest.mark.parametrize(
    ("given", "ids"),
    [
        ({"host": ["gpu2"]}, [FAILED["id"]]),
        ({"outcome": ["fail", "error"]}, [FAILED["id"]]),
        ({"outcome": ["inconclusive"]}, []),
        ({"outcome": ["declined"]}, []),
        ({"since": "2026-11-30T08:00:00+00:00"}, [FAILED["id"]]),
        ({"since": "2026-11-30T03:00:00+00:00", "outcome": ["pass"]}, [VARIED["id"]]),
    ],
)
def test_a_list_may_be_narrowed(
    project: Path, capsys: pytest.CaptureFixture[str], given: dict[str, Any], ids: list[str]
) -> None:
    assert run(project, "audit.list", json=True, **given) == 0
    assert [row["id"] for row in document(capsys)["records"]] == ids


def test_a_list_may_be_narrowed_to_what_was_declined(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    declined = {**FAILED, "id": "no", "action": "deploy", "outcome": "error", "exit_code": 130}
    broken = {**FAILED, "id": "broken", "outcome": "error", "exit_code": 70}
    mirror(ChainWire(chain_of([FAILED, declined, broken])), host(name="gpu2"), directory(tmp_path), utc_now())  # type: ignore[arg-type]
    for outcome, ids in (("declined", ["no"]), ("error", ["no", "broken"])):
        assert run(tmp_path, "audit.list", json=True, outcome=[outcome]) == 0
        rows = document(capsys)["records"]
        assert [row["id"] for row in rows] == ids


def test_a_list_as_json_tells_who_why_and_how_it_ended(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run(project, "audit.list", json=True, host=["gpu2"])
    (row,) = document(capsys)["records"]
    assert row["operator"] == "bob@desk"
    assert (row["exit_code"], row["seq"], row["signed"], row["reason"]) == (1, 1, False, "look\x1b[31m")


def test_no_records_are_an_empty_list(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(tmp_path, "audit.list", json=True) == 0
    assert document(capsys) == {"schema": 1, "action": "audit.list", "records": []}


def test_a_record_that_its_host_has_not_got_is_listed_and_told_but_not_exported(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lost = {**VARIED, "id": "20261130T200000-abcd", "outcome": "error", "exit_code": 7}
    Owed(directory(project), "gpu1").keep(lost)
    assert run(project, "audit.list", host=["gpu1"]) == 0
    (line,) = [line for line in capsys.readouterr().out.splitlines() if lost["id"] in line]
    assert "  error, not on the host  " in line
    assert run(project, "audit.list", json=True) == 0
    listed = document(capsys)
    assert jsonschemas.problems(listed, "auditList") == []
    assert [row["id"] for row in listed["records"] if row["seq"] is None] == [lost["id"]]
    for task in ("audit.show", "report"):
        assert run(project, task, id=lost["id"], **({"format": "markdown"} if task == "report" else {})) == 0
        assert "deploy gpu1: ERROR" in capsys.readouterr().out
    assert run(project, "audit.show", id=lost["id"], json=True) == 0
    assert jsonschemas.problems(document(capsys), "auditRecord") == []
    assert run(project, "audit.export", id=lost["id"], json=True) == 2
    assert run(project, "audit.verify", host=[], json=True) == 0


# ------------------------------------------------------------------ show


def test_a_record_is_shown_by_the_beginning_of_its_id(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(project, "audit.show", id="20261130T035") == 0
    out = capsys.readouterr().out
    assert out.startswith("deploy gpu1: PASS (exit 0)\n")
    assert "operator  ann@laptop, Ann Ä <ann@example.net>" in out
    assert "record #1" in out


def test_a_record_is_shown_with_every_program_only_where_that_is_asked_for(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    program = {
        "call": "daemon_reload",
        "command": "systemctl daemon-reload",
        "exit": 4,
        "times": 1,
        "at_s": 2.0,
        "duration_s": 0.1,
    }
    chain = chain_of([{**FAILED, "programs": [program]}])
    mirror(ChainWire(chain), host(name="gpu2"), directory(tmp_path), utc_now())  # type: ignore[arg-type]
    assert run(tmp_path, "audit.show") == 0
    assert "ran 1 program on the host; failed: systemctl (-v" in capsys.readouterr().out
    assert run(tmp_path, "audit.show", verbose=True) == 0
    assert "       2.0 s  systemctl daemon-reload  exit 4, 0.1 s\n" in capsys.readouterr().out


def test_a_record_as_json_is_the_record_itself(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run(project, "audit.show", id="20261130T035", json=True)
    found = document(capsys)
    assert {key: found[key] for key in VARIED} == VARIED
    assert found["seq"] == 1


def test_an_ambiguous_beginning_lists_the_candidates(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(project, "audit.show", id="20261130T0", json=True) == 2
    error = document(capsys)["error"]
    assert str(VARIED["id"]) in error
    assert str(FAILED["id"]) in error


# ------------------------------------------------------------------ verify


def test_sound_mirrors_pass(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(project, "audit.verify", json=True) == 0
    found = document(capsys)
    assert [(one["host"], one["outcome"]) for one in found] == [("gpu1", "pass"), ("gpu2", "pass")]
    assert jsonschemas.problems(found) == []


def test_of_several_copies_each_stands_under_its_name(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(project, "audit.verify") == 0
    told = capsys.readouterr().out.splitlines()
    first, second = (told.index(f"== {name}") for name in ("gpu1", "gpu2"))
    assert (
        first,
        "each of 3 is the one" in told[1],
        told.index("audit.verify gpu1: PASS (exit 0)") < second,
    ) == (0, True, True)
    assert run(project, "audit.verify", host=["gpu1"], json=True) != 0
    assert "==" not in capsys.readouterr().out


def test_one_bad_byte_fails_and_the_record_is_named(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = path_of(project, "gpu1")
    path.write_bytes(path.read_bytes().replace(b"deploy", b"verify"))
    assert run(project, "audit.verify") == 1
    assert "record #1 edited" in capsys.readouterr().out


def test_a_mirror_cut_at_its_end_fails(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = path_of(project, "gpu1")
    path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:2]))
    assert run(project, "audit.verify") == 1
    assert "record #3 truncated" in capsys.readouterr().out


def test_nothing_to_verify_is_no_pass(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(tmp_path, "audit.verify", json=True) == 2
    assert "no audit mirror" in document(capsys)["error"]


def test_unsigned_records_fail_where_signatures_are_asked_for(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(project, "audit.verify", signed=True) == 1
    assert "20261130T035111-14c6 is not signed" in capsys.readouterr().out


@pytest.fixture
def signed(tmp_path: Path) -> Path:
    """A project with one signed record, and hosts/allowed_signers."""
    key = tmp_path / "id"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(key)], check=True)
    wire = ChainWire()
    append(wire, "/state", VARIED, Signer(key).sign, deadline_s=1)  # type: ignore[arg-type]
    mirror(wire, host(), directory(tmp_path), utc_now())  # type: ignore[arg-type]
    (tmp_path / "hosts").mkdir()
    public = " ".join(key.with_name("id.pub").read_text().split()[:2])
    (tmp_path / "hosts" / "allowed_signers").write_text(f"ann@example.net {public}\n")
    return tmp_path


@pytest.mark.real
def test_signatures_are_checked_against_the_projects_allowed_signers(
    signed: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(signed, "audit.verify", signed=True) == 0
    assert run(signed, "audit.verify", json=True) == 0
    assert "ann@example.net (1)" in capsys.readouterr().out


@pytest.mark.real
@pytest.mark.parametrize(("required", "code"), [(False, 0), (True, 3)])
def test_a_signature_of_nobody_knows_whom_is_told_and_proves_no_name(
    signed: Path, capsys: pytest.CaptureFixture[str], required: bool, code: int
) -> None:
    (signed / "hosts" / "allowed_signers").unlink()
    assert run(signed, "audit.verify", signed=required) == code
    assert "by whom is not known" in capsys.readouterr().out


@pytest.mark.real
def test_a_signature_of_another_fails(signed: Path, capsys: pytest.CaptureFixture[str]) -> None:
    others = signed / "others"
    others.write_text("")
    assert run(signed, "audit.verify", allowed_signers=str(others)) == 1
    assert "record #1 20261130T035111-14c6 has a bad signature" in capsys.readouterr().out


@pytest.mark.real
def test_without_ssh_keygen_signatures_are_not_known_to_be_right(
    signed: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(signed))
    assert run(signed, "audit.verify") == 3


# ------------------------------------------------------------------ export


def test_jsonl_is_the_chain_byte_for_byte(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(project, "audit.export", host=["gpu1"]) == 0
    assert capsys.readouterr().out.encode() == three()


def test_an_export_goes_to_a_file_whole(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = project / "report.xml"
    assert run(project, "audit.export", format="junit", output=str(out), json=True) == 0
    assert document(capsys) == {
        "schema": 1, "action": "audit.export", "format": "junit", "records": 4, "output": str(out), "text": None,
    }  # fmt: skip
    assert len(list(ElementTree.parse(out).getroot())) == 4
    assert [path.name for path in project.glob("*.new")] == []


def test_an_export_leaves_a_link_a_link_and_a_pipe_a_pipe(project: Path) -> None:
    aim, link, pipe = project / "aim", project / "link", project / "pipe"
    link.symlink_to(aim)
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDWR)
    try:
        for output in (link, pipe):
            assert run(project, "audit.export", host=["gpu1"], output=str(output)) == 0
        assert os.read(reader, 1 << 16) == three()
    finally:
        os.close(reader)
    assert link.is_symlink()
    assert aim.read_bytes() == three()
    assert pipe.is_fifo()


def test_an_export_as_json_carries_the_text(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run(project, "audit.export", host=["gpu1"], json=True)
    assert document(capsys)["text"].encode() == three()


@pytest.mark.parametrize(
    ("action", "given", "word"),
    [
        ("audit.export", {"format": "pdf"}, "--format should be one of jsonl, junit, markdown, html"),
        ("report", {"format": "pdf"}, "--format should be one of html, markdown, found 'pdf'"),
        ("audit.export", {"host": ["gpu3"]}, "nothing to export"),
        ("audit.export", {"format": "html"}, "name one with --id"),
        ("audit.export", {"output": "/nowhere/x"}, "/nowhere/x cannot be written"),
        ("audit.export", {"output": "/"}, "/ cannot be written: it is a directory"),
        ("audit.export", {"output": "."}, ". cannot be written: it is a directory"),
        ("audit.export", {"output": "a\0b"}, "it is no name of a file"),
        ("report", {"output": "..", "format": "html"}, ".. cannot be written: it is a directory"),
        ("audit.list", {"outcome": ["green"]}, "--outcome should be one of"),
        ("audit.list", {"since": "yesterday"}, "--since wants"),
        ("audit.list", {"host": ["../x"]}, "--host needs a name"),
        ("audit.list", {"host": ["--json"]}, "--host needs a name"),
        ("audit.list", {"fetch": True}, "--fetch wants --host"),
        ("audit.show", {"id": "nope"}, "no audit record begins with 'nope'"),
        ("audit.show", {"id": "--help"}, "begins with no dash"),
        ("audit.verify", {"allowed_signers": "/nowhere"}, "there is no file /nowhere"),
        ("audit.verify", {"host": ["nosuch"]}, "no host named 'nosuch'"),
    ],
)
def test_what_makes_no_sense_is_one_message_and_exit_2(
    project: Path, capsys: pytest.CaptureFixture[str], action: str, given: dict[str, Any], word: str
) -> None:
    assert run(project, action, json=True, **given) == 2
    assert word in document(capsys)["error"]


# ------------------------------------------------------------------ through the program


@pytest.mark.parametrize(
    ("words", "code"),
    [
        ("audit.list --json", 0),
        ("audit.list --host gpu1 --outcome pass --outcome fail --since 2w --json", 0),
        ("audit.show 20261130T035 --json", 0),
        ("audit.show --json", 0),
        ("audit.verify --json", 0),
        ("audit.export --format junit --json", 0),
        ("audit.show 2026 --json", 2),
    ],
)
def test_every_task_prints_one_document_without_a_terminal_or_stdin(
    project: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, words: str, code: int
) -> None:
    monkeypatch.chdir(project)
    monkeypatch.setattr(sys, "stdin", None)
    program = RunbookProgram(name="invoke", binary="invoke", namespace=tasks.namespace)
    with pytest.raises(SystemExit) as ended:
        program.run(["invoke", *words.split()])
    assert ended.value.code == code
    assert jsonschemas.problems(document(capsys)) == []


def test_without_an_id_the_youngest_record_is_shown(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(project, "audit.show") == 0
    assert capsys.readouterr().out.startswith("verify gpu2: FAIL (exit 1)")


@pytest.mark.parametrize("action", ["audit.list", "audit.show", "audit.export", "report"])
def test_what_somebody_nested_beyond_reason_is_one_document_all_the_same(
    project: Path, capsys: pytest.CaptureFixture[str], action: str
) -> None:
    for depth in range(900, 1000, 5):
        line = b'{"error":%b,"hash":"a","host":"gpu9","seq":1}\n' % (b"[" * depth + b"]" * depth)
        (directory(project) / "gpu9.jsonl").write_bytes(line)
        assert run(project, action, host=["gpu9"], json=True, format="markdown") in (0, 2)
        document(capsys)


def test_a_mirror_that_cannot_be_read_is_one_message_and_exit_2(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (directory(project) / "gpu3.jsonl").mkdir()
    assert run(project, "audit.list", json=True) == 2
    assert "gpu3.jsonl: Is a directory" in document(capsys)["error"]


def test_a_mistyped_host_is_no_host_where_nothing_happened(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(project, "audit.list", host=["gpu22"], json=True) == 2
    assert "no host named 'gpu22'" in json.loads(capsys.readouterr().out)["error"]
