"""Small values the tests of this folder start from."""

from __future__ import annotations

import sys
from dataclasses import replace
from types import ModuleType
from typing import TYPE_CHECKING, Any

from runbook.load.bench.request import RequestRecord
from runbook.load.bench.result import BenchResult, Level
from runbook.load.outcome import Outcome

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

FINGERPRINT = {
    "model": "m",
    "input_tokens": 350,
    "output_tokens": 256,
    "concurrency": [1, 8],
    "request_rate": None,
    "extra_body": {},
    "server": {"version": "0.5.23", "arguments": {"tp_size": 8}, "gpu": {}},
    "client": "runbook bench 1",
}


def request(**fields: Any) -> RequestRecord:
    """An answered request: sent at 0, first token at 0.1 s, then one every 10 ms, 11 in all."""
    plain = RequestRecord(
        index=0,
        intended=0.0,
        sent=0.0,
        ended=0.2,
        first_byte=0.05,
        arrivals=tuple(0.1 + 0.01 * token for token in range(11)),
        prompt_tokens=350,
        completion_tokens=11,
        cached_tokens=None,
        finish="length",
        failure="",
    )
    return replace(plain, **fields)


def level(concurrency: int, *rates: float, **fields: Any) -> Level:
    return Level(concurrency, rates, requests=10, **fields)


def result(*levels: Level, **fingerprint: Any) -> BenchResult:
    concurrencies = [level.concurrency for level in levels]
    return BenchResult(
        {**FINGERPRINT, "concurrency": concurrencies, **fingerprint}, levels, (), Outcome.PASS, wall_s=1.0
    )


def a_tokenizer(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> str:
    """The path of a tokenizer.json of one token a word, and a `tokenizers` package that reads it."""
    (tmp_path / "tokenizers.py").write_text(
        "class Ids:\n"
        "    def __init__(self, ids): self.ids = ids\n"
        "class Tokenizer:\n"
        "    @classmethod\n"
        "    def from_buffer(cls, data): return cls()\n"
        "    def encode(self, text, add_special_tokens): return Ids(text.split())\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    # Put there and taken away: so what was there, or that nothing was, is there again after the test.
    monkeypatch.setitem(sys.modules, "tokenizers", ModuleType("tokenizers"))
    del sys.modules["tokenizers"]
    path = tmp_path / "tokenizer.json"
    path.write_text("{}")
    return str(path)
