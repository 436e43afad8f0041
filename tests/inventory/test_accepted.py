"""Host files that are right: the Host they become."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runbook.inventory import known, load, parse
from tests.inventory.cases import cases, hosts_dir

_HOSTS = Path(__file__).parents[2] / "hosts"
_UNITS = "units: {server: {unit: s.service, script: /s.sh, url: 'http://127.0.0.1:30001'}}\n"
_NULLS = ("~", "null", "Null", "NULL")

_printable = st.text(st.characters(codec="utf-8", exclude_categories=("C", "Zl", "Zp")), max_size=40)
_plain = st.from_regex(r"[A-Za-z0-9_+.]([A-Za-z0-9_+.,=%~^*/-]|:[A-Za-z0-9])*", fullmatch=True)


@pytest.mark.parametrize("case", cases("accepted"))
def test_a_host_file_becomes_a_host(case: dict[str, Any], tmp_path: Path) -> None:
    host = load("gpu1", hosts_dir=hosts_dir(tmp_path, case["text"], case.get("profile")))
    fields = json.loads(json.dumps(_tree(host), default=str))
    want = json.loads(json.dumps(case["want"], default=str))
    assert {name: fields[name] for name in want} == want


def _tree(value: Any) -> Any:
    """A value as JSON has it: names of fields, not their places."""
    if hasattr(value, "_asdict"):
        return {name: _tree(field) for name, field in value._asdict().items()}
    return [_tree(one) for one in value] if isinstance(value, tuple) else value


@given(value=_printable, quote=st.sampled_from("'\""))
def test_any_quoted_flag_value_arrives_as_written(value: str, quote: str) -> None:
    scalar = json.dumps(value, ensure_ascii=False) if quote == '"' else "'" + value.replace("'", "''") + "'"
    assert _loaded_value(scalar) == value


@given(value=_plain.filter(lambda text: text not in _NULLS and len(text) < 200))
def test_any_plain_flag_value_arrives_as_written(value: str) -> None:
    assert _loaded_value(value) == value


def test_the_manual_loads_and_names_every_kind_of_thing() -> None:
    host = parse("example", _HOSTS / "example.yml")
    assert [unit.role for unit in host.units] == ["prefill", "decode", "router"]
    assert [flag.value for flag in host.flags] == ["0", None, "1"]
    assert [type(validation).__name__ for validation in host.validations] == ["Sessions", "Command"]
    assert host.bench is not None
    assert host.ssh.port == 22


@pytest.mark.parametrize(
    ("profile", "more", "endpoint"),
    [
        ("sglang-dsv4-pd", "", "http://127.0.0.1:30001"),
        ("sglang-single", "model: qwen\n", "http://127.0.0.1:30000"),
        ("openai-single", "model: qwen\nunits: {server: {unit: vllm.service}}\n", "http://127.0.0.1:8000"),
    ],
)
def test_every_shipped_profile_needs_only_a_few_lines(
    profile: str, more: str, endpoint: str, tmp_path: Path
) -> None:
    directory = hosts_dir(tmp_path, f"profile: {profile}\nssh: gpu1\n{more}")
    (directory / "profiles" / f"{profile}.yml").write_bytes(
        (_HOSTS / "profiles" / f"{profile}.yml").read_bytes()
    )
    host = load("gpu1", hosts_dir=directory)
    assert host.service == profile
    assert host.endpoint is not None
    assert host.endpoint.url == endpoint
    assert host.validations
    assert host.wait.ready.attempts * host.wait.ready.every_s >= 75, (
        "a router's circuit breaker stays open 60 s"
    )


def test_no_profile_is_shipped_untested() -> None:
    shipped = {path.stem for path in (_HOSTS / "profiles").glob("*.yml")}
    assert shipped == {"sglang-dsv4-pd", "sglang-single", "openai-single"}


def test_known_hosts_are_sorted_with_the_lab_and_leave_out_the_manual(tmp_path: Path) -> None:
    directory = hosts_dir(tmp_path, "", "model: m\n")
    for name in ("zeta.yml", "example.yml", "alpha.yml", "notes.txt", "schema.json", "old.yml.bak"):
        (directory / name).touch()
    assert known(directory) == ("alpha", "gpu1", "lab", "zeta")


def _loaded_value(scalar: str) -> str | None:
    text = f"ssh: gpu1\nmodel: m\n{_UNITS}flags:\n  A:\n    value: {scalar}\n    why: because\n"
    with tempfile.TemporaryDirectory() as root:
        return load("gpu1", hosts_dir=hosts_dir(Path(root), text)).flags[0].value
