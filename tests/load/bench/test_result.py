from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from runbook.load.bench.result import BenchResult, ResultError
from runbook.load.bench.saved import load_result
from tests.load.bench.made import level, result

if TYPE_CHECKING:
    from pathlib import Path

MEASURED = result(level(8, 1.0, 2.0, ttft_ms={"p50": 1.5}, failures={"cut": 1}, problems=("client-bound",)))


def test_a_result_survives_json() -> None:
    assert BenchResult.from_json(json.loads(json.dumps(MEASURED.to_json()))) == MEASURED


def test_keys_of_a_newer_release_are_passed_over() -> None:
    document = json.loads(json.dumps(MEASURED.to_json()))
    document["levels"][0]["joules"] = 3
    assert BenchResult.from_json(document) == MEASURED


@pytest.mark.parametrize(
    ("document", "named"),
    [
        ({}, "found {'kind': None, 'schema': None}"),
        ({"kind": "sessions", "schema": 1}, "found {'kind': 'sessions', 'schema': 1}"),
        ({"kind": "bench", "schema": 9}, "found {'kind': 'bench', 'schema': 9}"),
        ({"kind": "bench", "schema": 1}, "fingerprint"),
        ({**MEASURED.to_json(), "levels": [{"requests": 3}]}, "concurrency"),
        ({**MEASURED.to_json(), "outcome": "fine"}, "fine"),
    ],
)
def test_what_is_no_result_is_refused_with_what_is_wrong(document: dict[str, Any], named: str) -> None:
    with pytest.raises(ResultError) as refused:
        BenchResult.from_json(document)
    assert named in str(refused.value)


@pytest.mark.parametrize("indent", [None, 2])
def test_a_result_is_read_from_a_document_or_the_first_of_its_lines(
    tmp_path: Path, indent: int | None
) -> None:
    path = tmp_path / "result.json"
    rest = '\n{"index": 0}\n' if indent is None else "\n"
    path.write_text(json.dumps(MEASURED.to_json(), indent=indent) + rest)
    assert load_result(path) == MEASURED


@pytest.mark.parametrize("text", [None, "", "{", "[]", "{}"])
def test_a_file_that_holds_no_result_is_refused(tmp_path: Path, text: str | None) -> None:
    path = tmp_path / "result.json"
    if text is not None:
        path.write_text(text)
    with pytest.raises(ResultError):
        load_result(path)
