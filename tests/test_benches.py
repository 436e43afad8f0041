"""Results kept here by name, and results read from files."""

from __future__ import annotations

import json
import stat
from typing import TYPE_CHECKING, Any

import pytest

from runbook import benches, benchrequest
from runbook.errors import UsageError
from tests.load.bench.made import level, result

if TYPE_CHECKING:
    from pathlib import Path

RESULT: dict[str, Any] = result(level(8, 100.0, 101.0)).to_json()


def test_a_result_is_kept_under_its_name_for_its_owner_alone(tmp_path: Path) -> None:
    benches.save(benches.free(tmp_path, "before-fix"), RESULT)
    path = tmp_path / ".runbook" / "benches" / "before-fix.json"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert benches.find(tmp_path, "before-fix") == json.loads(json.dumps(RESULT))
    assert benches.saved(tmp_path) == ("before-fix",)


def test_a_name_that_is_taken_is_refused_and_never_overwritten(tmp_path: Path) -> None:
    path = benches.free(tmp_path, "a")
    benches.save(path, RESULT)
    with pytest.raises(UsageError, match="is there already"):
        benches.free(tmp_path, "a")
    with pytest.raises(UsageError, match="File exists"):
        benches.save(path, RESULT)


@pytest.mark.parametrize("name", ["", "../a", "a/b", ".hidden", "-a", "a b", "a\n", "ä", "a" * 200])
def test_what_is_no_name_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(UsageError, match="should be a name"):
        benches.free(tmp_path, name)


def test_a_folder_that_cannot_be_written_is_one_message(tmp_path: Path) -> None:
    (tmp_path / ".runbook").write_text("in the way")
    with pytest.raises(UsageError, match="--save: "):
        benches.save(benches.free(tmp_path, "a"), RESULT)


@pytest.mark.parametrize(
    "text",
    [
        json.dumps(RESULT),
        json.dumps(RESULT, indent=2),
        json.dumps(RESULT) + '\n{"concurrency": 8, "repeat": 0}\n',
        json.dumps({"schema": 1, "action": "deploy", "bench": {"result": RESULT, "comparison": None}}),
    ],
)
def test_a_file_is_a_result_an_output_file_or_the_document_of_a_rollout(tmp_path: Path, text: str) -> None:
    (tmp_path / "kept.json").write_text(text)
    found = benches.find(tmp_path, "kept.json")
    assert found is not None
    assert found["levels"][0]["output_tok_s"] == [100.0, 101.0]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "no JSON document"),
        ("{", "no JSON document"),
        ("[1]", "should be a bench result"),
        ("{}", "should be a bench result"),
        ('{"bench": null, "action": "verify"}', "should be a bench result"),
        ('{"bench": {"result": null}}', "should be a bench result"),
        ('{"schema": 1, "kind": "bench"}', "not a whole bench result"),
        ("[" * 100_000, "no JSON document"),
        ("\ufeff{}", "no JSON document"),
    ],
)
def test_a_file_that_holds_no_result_is_one_message(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "odd.json").write_text(text)
    with pytest.raises(UsageError, match=said) as refused:
        benches.find(tmp_path, "odd.json")
    assert "odd.json" in str(refused.value)


def test_bytes_that_are_no_text_are_one_message(tmp_path: Path) -> None:
    (tmp_path / "odd").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(UsageError, match="no JSON document"):
        benches.find(tmp_path, "odd")


def test_neither_a_file_nor_a_name_is_nothing_found(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    assert benches.find(tmp_path, "20261130T0316") is None
    assert benches.find(tmp_path, "folder") is None


def test_what_is_neither_kept_nor_a_release_is_refused_before_a_host_is_reached(tmp_path: Path) -> None:
    benches.save(tmp_path / benches.FOLDER / "first.json", {})
    with pytest.raises(UsageError, match=r"it is no release's id.*there are: first"):
        benchrequest.targets(tmp_path, {"against": "nope"})
    for beginning in ("2026", "20261130T07"):
        assert benchrequest.targets(tmp_path, {"against": beginning})["against"] == beginning
