"""A record as a host's chain holds it, with every section filled."""

from __future__ import annotations

from typing import Any

HOSTILE = (
    "<script>alert(1)</script> <img src=http://x.example.net/y onerror=x> {{ 7*7 }} \x1b[2J ]]> &amp; \"'`"
)


def level(concurrency: int, rate: float) -> dict[str, Any]:
    return {
        "concurrency": concurrency,
        "output_tok_s": [rate, rate * 1.02, rate * 0.98],
        "ttft_ms": {"p50": 50.0, "p99": 60.0},
        "itl_ms": {"p50": 20.0, "p99": 26.0},
    }


def record(word: str = "x", **fields: Any) -> dict[str, Any]:
    """`word` stands in every text that comes from a host, a server or a file."""
    row = {
        "concurrency": 8, "baseline_tok_s": 1950.8, "current_tok_s": 1942.7, "ratio": 0.996, "low": 0.925, "high": 1.05,
        "detectable": 0.06, "verdict": "no regression", "why": "",
    }  # fmt: skip
    finding = {"check": word, "outcome": "fail", "message": word, "evidence": {"journal": word, "more": word}}
    whole = {
        "schema": 1, "id": f"20261130T074129-{word}", "seq": 3, "hash": "ab" * 32, "prev": "cd" * 32, "action": "deploy",
        "host": word, "outcome": "fail", "exit_code": 1, "reason": word, "error": word, "release": "r2", "parent": "r1",
        "rolled_back_to": None, "started": "2026-11-30T07:41:29.000+00:00", "ended": "2026-11-30T07:42:30.500+00:00",
        "operator": {"user": word, "host": word, "fingerprint": word}, "tool": {"version": word},
        "overrides": {word: word, "B": None},
        "steps": [
            {"name": word, "outcome": "pass", "at_s": 0.0, "duration_s": 30.0, "detail": word},
            {"name": "bench", "outcome": "fail", "at_s": 30.0, "duration_s": 31.5, "detail": ""},
        ],
        "plan": {
            "changes": [{"path": word, "diff": f"--- a\n+++ b\n@@ -1 +1 @@\n-old {word}\n+new {word}\n"}],
            "restarts": [{"unit": "decode.service", "why": word}], "notes": [word],
        },
        "restarts": [
            {"unit": "decode.service", "before": 10, "after": 11}, {"unit": "decode.service", "before": 11, "after": 12},
        ],
        "files": [{"path": word, "before": None, "after": "ef" * 32}],
        "flags": [
            {"flag": word, "unit": "decode", "wanted": word, "file": None, "running": word, "evidence": "unknown",
             "outcome": "inconclusive", "why": word, "owner": word},
        ],
        "validations": [
            {"name": word, "outcome": "fail", "sessions": 80, "rounds": 3, "finished": 4, "corrupt": 3, "upper_95": 0.98,
             "counts": {"maxrounds": 1, word: 3}, "wall_s": 6.0, "findings": [finding],
             "over_time": [{"at_s": 1.0, "ended": 1, "counts": {word: 1}}, {"at_s": 2.0, "ended": 4, "counts": {word: 3}}]},
        ],
        "bench": {
            "result": {"levels": [level(1, 277.0), level(8, 1942.0)]},
            "baseline": {"levels": [level(1, 280.0), level(8, 1950.0)]},
            "comparison": {"rows": [row]},
        },
        "findings": [finding], "probes": [{"check": word, "outcome": "pass", "message": word}],
        "calls": [{"call": word, "about": word, "times": 2, "at_s": 0.1, "duration_s": 0.002, "error": word}],
        "programs": [
            {"call": word, "command": word, "exit": 0, "error": word, "times": 2, "at_s": 0.1, "last_at_s": 0.2,
             "duration_s": 0.02, "longest_s": 0.01},
        ],
        "facts": {"hostname": word, "gpus": [{"name": word}], "servers": {word: {"version": word, "arguments": {word: word}}}},
    }  # fmt: skip
    return whole | fields
