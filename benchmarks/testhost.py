"""One real Debian host for a benchmark: systemd as PID 1, sshd, and the stand-in service of the system tests."""

from __future__ import annotations

import contextlib
import os
import sys
from typing import TYPE_CHECKING

from tests.system import requirements
from tests.system.boot import base
from tests.system.hosts import fleet

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.system.hosts import TestHost


@contextlib.contextmanager
def booted(name: str) -> Iterator[TestHost]:
    """A host of that name until the end of the block; exits with the reason where none can be booted."""
    if reason := requirements.obstacle(sys.platform, os.geteuid()):
        sys.exit(reason)
    cache = base.cache()
    with fleet(cache, base.built(base.mirror(), cache)) as ours:
        yield ours.boot((name,))[0]
