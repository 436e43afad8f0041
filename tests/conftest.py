"""A unit test that reaches the network, a process or the clock explodes; tests of real paths say so with a marker."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import pytest
from hypothesis import HealthCheck, settings

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

# CI tries the same examples each time, so that red means a change; the nightly profile looks for new ones.
settings.register_profile(
    "ci", max_examples=200, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile(
    "nightly", max_examples=5000, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))

# Pure functions that happen to be programs: the shell parser of the edits, and bash's own `-n`.
PARSERS = ("shfmt", "bash")


def _explode(what: str) -> Callable[..., NoReturn]:
    def explode(*args: Any, **kwargs: Any) -> NoReturn:
        raise AssertionError(f"a unit test reached {what}: inject it, or mark the test `real`")

    return explode


def _guarded_sleep(sleep: Callable[[float], None]) -> Callable[[float], None]:
    """The standard library may wait for a parser to end; a test may not wait for anything."""

    def guarded(seconds: float) -> None:
        if sys._getframe(1).f_globals["__name__"] != "subprocess":
            _explode("the clock")()
        sleep(seconds)

    return guarded


@pytest.fixture(autouse=True, scope="session")
def _own_cache(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Caches of these tests, and of the processes they start, are not the user's."""
    os.environ["XDG_CACHE_HOME"] = str(tmp_path_factory.mktemp("cache"))


@pytest.fixture(autouse=True, scope="session")
def _heed_ctrl_c() -> None:
    """A shell's background job ignores SIGINT, and so would the programs that tests send it to."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(autouse=True)
def _leave_the_process_as_it_was() -> Iterator[None]:
    """Environment and directory that code under test changes are those of its own test alone."""
    environ, directory = dict(os.environ), Path.cwd()
    yield
    for name in os.environ.keys() - environ.keys():
        del os.environ[name]
    os.environ.update(environ)
    os.chdir(directory)


@pytest.fixture(autouse=True)
def _stay_inside(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if any(request.node.get_closest_marker(name) for name in ("real", "system")):
        return
    monkeypatch.setattr(socket.socket, "connect", _explode("the network"))
    monkeypatch.setattr(time, "sleep", _guarded_sleep(time.sleep))
    start = subprocess.Popen.__init__

    def guarded(self: subprocess.Popen[Any], args: Any, *rest: Any, **kwargs: Any) -> None:
        program = args if isinstance(args, str) else os.fspath(args[0])
        if Path(program).name not in PARSERS:
            _explode(f"a process ({program})")()
        start(self, args, *rest, **kwargs)

    monkeypatch.setattr(subprocess.Popen, "__init__", guarded)
