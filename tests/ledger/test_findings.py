"""The ledger's findings, told by a table of host files and settings."""

from __future__ import annotations

import datetime
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from runbook import inventory, ledger

if TYPE_CHECKING:
    from runbook.model import Host

_TODAY = datetime.date(2026, 11, 30)
_CASES = Path(__file__).parents[1] / "cases" / "ledger" / "findings.yml"
_BASE: dict[str, Any] = {
    "ssh": "gpu1",
    "model": "m",
    "units": {
        "prefill": {"unit": "p.service", "script": "/p.sh"},
        "decode": {"unit": "d.service", "script": "/d.sh"},
        "router": {"unit": "r.service", "url": "http://127.0.0.1:30001"},
    },
}


def _cases() -> list[Any]:
    cases = inventory.document(_CASES)
    return [pytest.param(case, id=case["name"]) for case in cases]


@pytest.fixture(scope="module")
def catalogue() -> ledger.Catalogue:
    return ledger.parse(inventory.document(ledger.SHIPPED))


@pytest.mark.parametrize("case", _cases())
def test_the_ledger_says(case: dict[str, Any], catalogue: ledger.Catalogue, tmp_path: Path) -> None:
    host = _host(case, tmp_path)
    found = ledger.findings(host, _settings(case), catalogue=catalogue, today=_TODAY)
    assert [[each.check, each.outcome.value, each.message] for each in found] == case["want"]


@pytest.mark.parametrize("case", _cases())
def test_a_warning_passes_and_says_that_it_is_one(
    case: dict[str, Any], catalogue: ledger.Catalogue, tmp_path: Path
) -> None:
    for each in ledger.findings(_host(case, tmp_path), _settings(case), catalogue=catalogue, today=_TODAY):
        warns = each.evidence["severity"] == "warn"
        assert each.message.startswith("warning: ") is warns
        assert (each.outcome.value == "pass") is warns
        assert json.loads(json.dumps(each.to_json())) == each.to_json()


def _host(case: dict[str, Any], tmp_path: Path) -> Host:
    path = tmp_path / "hosts" / "gpu1.yml"
    path.parent.mkdir()
    parts = {key: case[key] for key in ("flags", "policy") if key in case}
    decode = {"unit": "d.service", "script": "/d.sh", "args": case.get("args", {})}
    units = {"units": {**_BASE["units"], "decode": decode}}
    path.write_text(yaml.dump(_BASE | units | parts, sort_keys=False), "utf-8")
    return inventory.load("gpu1", hosts_dir=path.parent)


def _settings(case: dict[str, Any]) -> list[ledger.Setting]:
    return [
        ledger.Setting(role, name, value, where, running=where.startswith("process"))
        for role, name, value, where in case.get("set", ())
    ]
