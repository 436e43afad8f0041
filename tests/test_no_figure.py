"""NaN and Infinity in what servers and the load generator say: Python reads them, JSON does not have them."""

from __future__ import annotations

import json
from typing import Any

from runbook import validations
from runbook.stages import servers


def strictly(document: Any) -> str:
    return json.dumps(document, allow_nan=False)


def test_a_result_of_the_load_generator_becomes_json_again() -> None:
    results: list[dict[str, Any]] = []
    line = '{"event": "result", "result": {"wall_s": NaN, "rates": [1.5, Infinity, -1e999]}}'
    validations._take(line, lambda text, fields: None, lambda request: None, results)
    assert strictly(results) == '[{"wall_s": null, "rates": [1.5, null, null]}]'


def test_what_a_server_says_of_itself_becomes_json_again() -> None:
    assert strictly(servers.parse(b'{"version": "1", "mem_fraction": NaN, "most": 1e999}'))
