"""Lists of paths as `systemctl show` prints them."""

from __future__ import annotations

import re


def paths(listed: str) -> list[str]:
    """The paths of a list: parted by blanks, and quoted as for a shell where one holds some."""
    if not re.search(r"[\"'\\]", listed):
        return listed.split()
    import shlex  # so rarely that the helper need not always read it

    try:
        return shlex.split(listed)
    except ValueError:
        return listed.split()
