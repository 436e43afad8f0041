"""Kinds found by their file's name, and what a host file may name of them."""

from __future__ import annotations

import pytest

from runbook import edits, kinds, probes, validations
from runbook.edits import serve_script
from runbook.errors import UsageError
from runbook.model import Command, Sessions
from runbook.probes import health
from runbook.validations import command, sessions

SESSIONS = Sessions("a", 1, 1, 0, 1, 1.0)


@pytest.mark.parametrize(
    "kind",
    [
        "../errors",
        "shell/words",
        "shell",
        "",
        "nosuch",
        "os",
        "serve_script.py",
        "__init__",
        "x" * 300,
        "a\0b",
    ],
)
def test_a_kind_is_a_module_of_its_room_and_nothing_else(kind: str) -> None:
    assert not kinds.exists("edits", kind)
    with pytest.raises(UsageError, match="no edit named"):
        kinds.named("edits", kind, "edit")


def test_a_module_without_the_function_is_no_kind() -> None:
    with pytest.raises(UsageError, match=r"probes are modules with ask\(\) in runbook/probes/"):
        kinds.named("probes", "breaker", "ask")


@pytest.mark.parametrize(
    "path", ["/root/serve.sh", "/root/serve", "/root/serve.bash", "/srv/a.b/run", "/root/.sh", "/root/serve.", "/root/a.template"]
)  # fmt: skip
def test_a_launch_file_is_a_shell_script_where_nobody_claims_its_ending(path: str) -> None:
    assert edits.named(edits.script_kind(path)) is serve_script


def test_a_probe_is_found_by_the_scheme_of_its_url() -> None:
    assert probes.of("http://127.0.0.1:1/health") is probes.of("https://127.0.0.1:1/health") is health
    with pytest.raises(UsageError, match="no probe named 'gopher'"):
        probes.of("gopher://127.0.0.1:1/")


def test_a_validation_is_found_by_its_kind() -> None:
    assert validations.of(SESSIONS) is sessions
    assert validations.of(Command("b", "true")) is command
    with pytest.raises(UsageError, match="no validation named 'nosuch'"):
        validations.of(SESSIONS._replace(kind="nosuch"))


def test_what_has_measured_nothing_is_inconclusive() -> None:
    assert validations.unjudged("a", 1.0, ())["outcome"] == "inconclusive"
