from __future__ import annotations

import importlib
import importlib.metadata
import subprocess
import sys

import pytest

from runbook import lean


@pytest.fixture
def _colorsys_is_not_imported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "colorsys", raising=False)


def printed(code: str) -> list[str]:
    """The words that a fresh interpreter prints."""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return done.stdout.split()


@pytest.mark.usefixtures("_colorsys_is_not_imported")
def test_only_the_names_asked_for_are_there_and_afterwards_the_whole_module() -> None:
    with lean.without("colorsys", "rgb_to_hsv"):
        module = importlib.import_module("colorsys")
        assert {name for name in vars(module) if not name.startswith("_")} == {"rgb_to_hsv"}
    assert "colorsys" not in sys.modules


@pytest.mark.usefixtures("_colorsys_is_not_imported")
def test_more_than_was_thought_is_there_all_the_same() -> None:
    """A later version of a library may want more than the one this was written for, or another thread may."""
    with lean.without("colorsys", "rgb_to_hsv"):
        from colorsys import hsv_to_rgb, rgb_to_hsv
    assert hsv_to_rgb(*rgb_to_hsv(1.0, 0.0, 0.0)) == (1.0, 0.0, 0.0)
    assert sys.modules["colorsys"].hsv_to_rgb is hsv_to_rgb


@pytest.mark.usefixtures("_colorsys_is_not_imported")
def test_who_holds_what_was_left_out_gets_the_real_one() -> None:
    with lean.without("colorsys", "rgb_to_hsv", rgb_to_hls=lambda *rgb: rgb):
        held = importlib.import_module("colorsys")
        to_hsv = held.rgb_to_hsv
    assert to_hsv(1.0, 1.0, 1.0) == (0.0, 0.0, 1.0)
    assert held.hsv_to_rgb(0.0, 0.0, 1.0) == (1.0, 1.0, 1.0)
    assert held.rgb_to_hls(1, 2, 3) == (1, 2, 3)
    with pytest.raises(AttributeError, match="no_such_thing"):
        _ = held.no_such_thing


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
    assert printed(code) == ["False", "False", "True"]


@pytest.mark.parametrize("distribution", ["paramiko", "httpx", "typing_extensions"])
def test_a_version_is_what_the_metadata_says(distribution: str) -> None:
    assert lean.version(distribution) == importlib.metadata.version(distribution)


def test_an_import_path_that_cannot_be_looked_into_hides_no_version(monkeypatch: pytest.MonkeyPatch) -> None:
    """Too long here; most often another user's directory, as after `sudo -u`."""
    monkeypatch.setattr(sys, "path", ["x" * 5000, *sys.path])
    assert lean.version("paramiko") == importlib.metadata.version("paramiko")


def test_what_is_not_installed_has_no_version() -> None:
    assert lean.version("no-such-distribution") == "unknown"


@pytest.mark.real
def test_paramiko_knows_its_version_all_the_same() -> None:
    code = "import runbook.ssh.link, sys, paramiko; print(paramiko.__version__, 'importlib.metadata' in sys.modules)"
    assert printed(code) == [importlib.metadata.version("paramiko"), "False"]


@pytest.mark.real
def test_what_others_use_of_invoke_works_as_ever() -> None:
    """Tasks of a project's own, run by `-r`, may be tests."""
    code = (
        "import runbook.program, invoke, invoke.config; "
        "context = invoke.MockContext(run=invoke.Result('said')); "
        "print(context.run('x').stdout, context.run.called, invoke.config.yaml.dump({'a': 1}))"
    )
    assert printed(code) == ["said", "True", "a:", "1"]
