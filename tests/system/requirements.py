"""Whether this machine can boot test hosts, and if not, why, in one plain sentence."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from runbook.development import SYSTEM
from tests.system.boot import base, cgroups

if TYPE_CHECKING:
    from collections.abc import Sequence


def obstacle(platform: str, uid: int) -> str | None:
    """The first thing that is missing on a platform (`sys.platform`) for a user; None when hosts can be booted."""
    if platform != "linux":
        return "booting Debian hosts needs Linux"
    if uid != 0:
        return "booting Debian hosts needs root"
    if missing := base.missing_programs():
        return lacking(missing)
    if not base.can_mount():
        return "booting Debian hosts needs to mount file systems, which this root may not"
    if not cgroups.usable():
        return "booting Debian hosts needs to make control groups, which this root may not"
    try:
        base.mirror()
    except base.NoMirror:
        return "booting Debian hosts needs an archive to build them from, and this machine's apt knows none of its own release"
    return None


def lacking(programs: Sequence[str]) -> str:
    """That these are missing, and the command that brings those whose Debian packages we know."""
    packages = sorted({SYSTEM[name] for name in programs if name in SYSTEM})
    bring = f" (apt-get install {' '.join(packages)})" if packages else ""
    return f"booting Debian hosts needs programs that are not installed: {', '.join(programs)}{bring}"


def demanded() -> bool:
    """Is a missing system test a failure here, as it is in CI?"""
    return os.environ.get("RUNBOOK_REQUIRE_SYSTEM") == "1"
