from __future__ import annotations

import datetime
from typing import Any

import pytest

from runbook import observation, releases
from runbook.model import FileRecord

FILE = {"path": "/a", "sha256": None, "mode": 0o755, "uid": 0, "gid": 0, "link": None}
RUN = {"name": "v", "corrupt": 0, "sessions": 80, "upper_95": None}


def manifest(release_id: str, **fields: Any) -> dict[str, Any]:
    document = releases.manifest(
        release_id,
        created=datetime.datetime(2026, 1, 2, tzinfo=datetime.UTC),
        parent=None,
        verdict="proven",
        files=(),
        flags={},
        rollout="r",
    )
    return {**document, "files": [FILE], **fields}


def answer(*manifests: Any, **state: Any) -> dict[str, Any]:
    return {
        "facts": {},
        "now": 0.0,
        "files": {},
        "feeds": {},
        "manager": {"environ": {}, "error": None},
        "units": {},
        "disk": {"free_bytes": 1, "free_inodes": 1, "read_only": []},
        "state": {"current": None, "releases": list(manifests), "inflight": None, "lock": None, **state},
    }


@pytest.mark.parametrize(
    "fields",
    [
        {"created": "yesterday"},
        {"created": None},
        {"files": None},
        {"files": ["/a"]},
        {"files": [{"sha256": None}]},
        {"flags": ["A"]},
        {"flags": {"decode": 5}},
        {"validations": [5]},
        {"bench": 5},
        {"engine": 5},
        {"verdict": 5},
        {"parent": ["a"]},
        {"created": "0001-01-01T00:00:00"},
        {"validations": [RUN | {"upper_95": "few"}]},
        {"validations": [RUN | {"name": ["v"]}]},
        {"bench": {"levels": 5}},
        {"bench": {"levels": [{"concurrency": 1, "output_tok_s": "fast"}]}},
        {"bench": {"levels": [{"concurrency": "one", "output_tok_s": [1.0]}]}},
    ],
)
def test_a_release_that_cannot_be_read_is_named_and_hides_no_other(fields: dict[str, Any]) -> None:
    seen = observation.parse(answer(manifest("a", **fields), manifest("b"), damaged=["c"]))
    assert [release.id for release in seen.releases] == ["b"]
    assert seen.damaged == ("c", "a")
    assert "c, a" in releases.remarks(seen)[0]


def test_a_manifest_without_its_verdict_is_damaged() -> None:
    document = manifest("a")
    del document["verdict"]
    assert observation.parse(answer(document)).damaged == ("a",)


def test_what_a_later_version_adds_to_a_manifest_is_left_out() -> None:
    document = manifest("a", shape="round", files=[{**FILE, "acl": "x"}], validations=[{"name": "short"}])
    (release,) = observation.parse(answer(document)).releases
    assert release.files == (FileRecord("/a", None, 0o755),)
    assert release.validations == ()
