from __future__ import annotations

import importlib
import importlib.metadata
import subprocess
import sys

import pytest

from runbook import lean


def test_only_the_names_asked_for_are_there_and_afterwards_the_whole_module() -> None:
    sys.modules.pop("this_is_left_out", None)
    with lean.without("this_is_left_out", "main"):
        module = importlib.import_module("this_is_left_out")
        assert not hasattr(module, "other")
        with pytest.raises(ImportError, match=r"this_is_left_out\.main was left out"):
            module.main(1, a=2)
    assert "this_is_left_out" not in sys.modules


def test_what_was_imported_before_stays_as_it_is() -> None:
    with lean.without("json", "dumps"):
        import json

        assert json.dumps([1]) == "[1]"
    assert sys.modules["json"] is json


def test_it_is_taken_away_after_an_error_too() -> None:
    with pytest.raises(ZeroDivisionError), lean.without("this_is_left_out"):
        _ = 1 // 0
    assert "this_is_left_out" not in sys.modules


@pytest.mark.real
def test_what_was_left_out_can_be_imported_later() -> None:
    code = (
        "import runbook.program, runbook.tunnel.transport, sys; "
        "print('unittest.mock' in sys.modules, 'httpx._main' in sys.modules); "
        "from unittest.mock import Mock; print(Mock()() is not None)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "False", "True"]


@pytest.mark.parametrize("distribution", ["paramiko", "httpx", "typing_extensions"])
def test_a_version_is_what_the_metadata_says(distribution: str) -> None:
    assert lean.version(distribution) == importlib.metadata.version(distribution)


def test_what_is_not_installed_has_no_version() -> None:
    assert lean.version("no-such-distribution") == "unknown"


@pytest.mark.real
def test_paramiko_knows_its_version_all_the_same() -> None:
    code = "import runbook.ssh.link, sys, paramiko; print(paramiko.__version__, 'importlib.metadata' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == [importlib.metadata.version("paramiko"), "False"]
