"""`bench` by itself on the real lab: SSH, the load on the host, the worker behind the real router."""

from __future__ import annotations

import json
import stat
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.endtoend.story import Desk

pytestmark = pytest.mark.real

# The client shares its cores with the servers it measures, and with whatever else runs here.
SMALL = ("bench", "--concurrency", "1", "--repeats", "2", "--budget", "4", "--option", "client-lag=1e6")


def test_a_bench_is_kept_compared_with_and_refused_where_it_measured_something_else(before: Desk) -> None:
    first = before.document(*SMALL, "--save", "first", "--output-file", "out.jsonl")
    assert first["exit_code"] == 0, first["findings"]
    assert first["audit"]["seq"] >= 1
    assert first["bench"]["result"]["fingerprint"]["server"]["version"] == "runbook-lab"
    kept = before.directory / ".runbook" / "benches" / "first.json"
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    lines = (before.directory / "out.jsonl").read_text().splitlines()
    assert len(lines) == 1 + sum(level["requests"] for level in first["bench"]["result"]["levels"])
    assert json.loads(lines[-1])["failure"] == ""

    second = before.document(*SMALL, "--against", "first", "--max-regression", "0.95")
    assert (second["exit_code"], second["against"]) == (0, "first"), second["findings"]
    assert [row["verdict"] for row in second["bench"]["comparison"]["rows"]] == ["no regression"]

    other = before.document(*SMALL, "--against", "first", "--random-output-len", "32")
    assert other["exit_code"] == 2
    assert "output_tokens: baseline 64, now 32" in other["error"]


def test_a_url_is_benched_from_here(before: Desk) -> None:
    port = json.loads((before.directory / ".lab" / "lab.json").read_text())["ports"]["router"]
    url = f"http://127.0.0.1:{port}"
    lengths = ("--random-input-len", "350", "--random-output-len", "64")
    found = before.document(*SMALL, "--url", url, "--model", "deepseek-v4-flash", *lengths)
    assert (found["exit_code"], found["audit"], found["host"]) == (0, None, url), found["findings"]
