from __future__ import annotations

import contextlib
import json
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runbook.load.bench import FingerprintMismatch, compare, comparison_lines, result_lines
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


def with_level(**fields: Any) -> dict[str, Any]:
    return {**MEASURED.to_json(), "levels": [{**MEASURED.levels[0].to_json(), **fields}]}


def nested(depth: int) -> dict[str, Any]:
    return {"in": nested(depth - 1)} if depth else {}


def places(tree: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Every place in a document."""
    inner = tree.items() if isinstance(tree, dict) else enumerate(tree) if isinstance(tree, list) else ()
    return [path, *(place for key, value in inner for place in places(value, (*path, key)))]


def changed(tree: Any, path: tuple[Any, ...], value: Any) -> Any:
    if not path:
        return value
    copy = dict(tree) if isinstance(tree, dict) else list(tree)
    copy[path[0]] = changed(tree[path[0]], path[1:], value)
    return copy


DOCUMENT = json.loads(
    json.dumps(result(level(8, 1.0, 2.0, ttft_ms={"p50": 1.5}, steady=(0.0, 1.0))).to_json())
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)


@given(place=st.sampled_from(places(DOCUMENT)[1:]), value=JSON)
def test_a_document_with_anything_anywhere_is_refused_or_can_be_shown_and_compared(
    place: tuple[Any, ...], value: Any
) -> None:
    try:
        found = BenchResult.from_json(changed(DOCUMENT, place, value))
    except ResultError:
        return
    result_lines(found)
    for pair in ((found, MEASURED), (MEASURED, found)):
        with contextlib.suppress(FingerprintMismatch):
            comparison_lines(compare(*pair, max_regression=0.1))


@pytest.mark.parametrize(
    ("document", "named"),
    [
        ({}, "found {'kind': None, 'schema': None}"),
        ({"kind": "sessions", "schema": 1}, "found {'kind': 'sessions', 'schema': 1}"),
        ({"kind": "bench", "schema": 9}, "found {'kind': 'bench', 'schema': 9}"),
        ({"kind": "bench", "schema": 1}, "fingerprint"),
        ({**MEASURED.to_json(), "levels": [{"requests": 3}]}, "concurrency"),
        ({**MEASURED.to_json(), "outcome": "fine"}, "fine"),
        (with_level(concurrency="8"), "concurrency: should be a whole number, found '8'"),
        (with_level(concurrency=True), "concurrency"),
        (with_level(failures={"timeout": None}), "failures: should be a table of whole numbers"),
        ({**MEASURED.to_json(), "slo": {"ttft": "fast"}}, "slo: should be a table of numbers"),
        (with_level(output_tok_s=["fast"]), "output_tok_s: should be a list of numbers"),
        (with_level(output_tok_s=[float("nan")]), "output_tok_s"),
        (with_level(output_tok_s=[-1]), "output_tok_s"),
        (with_level(ttft_ms={"p50": "soon"}), "ttft_ms: should be a table of numbers"),
        (with_level(steady=[1]), "steady: should be two numbers"),
        (with_level(problems=[1]), "problems: should be a list of texts"),
        ({**MEASURED.to_json(), "levels": [7]}, "levels: should be tables"),
        ({**MEASURED.to_json(), "fingerprint": [1]}, "fingerprint: should be a table"),
        ({**MEASURED.to_json(), "fingerprint": {"concurrency": [[1]]}}, "fingerprint.concurrency"),
        ({**MEASURED.to_json(), "fingerprint": {"extra_body": nested(20)}}, "at most 8 tables deep"),
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
