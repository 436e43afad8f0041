"""Whether this machine can boot test hosts, and if not, why, in one plain sentence."""

from __future__ import annotations

import os

from tests.system.boot import base, cgroups


def obstacle(platform: str, uid: int) -> str | None:
    """The first thing that is missing on a platform (`sys.platform`) for a user; None when hosts can be booted."""
    if platform != "linux":
        return "system tests boot Debian hosts, which needs Linux"
    if uid != 0:
        return "system tests boot Debian hosts, which needs root"
    if missing := base.missing_programs():
        return f"system tests need programs that are not installed: {', '.join(missing)}"
    if not base.can_mount():
        return "system tests boot Debian hosts, and this root may not mount file systems"
    if not cgroups.usable():
        return "system tests boot Debian hosts, and this root may not make control groups"
    try:
        base.mirror()
    except base.NoMirror:
        return "system tests build a Debian, and this machine's apt knows no archive of its own release"
    return None


def demanded() -> bool:
    """Is a missing system test a failure here, as it is in CI?"""
    return os.environ.get("RUNBOOK_REQUIRE_SYSTEM") == "1"
