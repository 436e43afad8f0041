"""Where the lab's host keeps its state: in the lab, but not below a directory of somebody else's, where the helper refuses it.

A checkout often lies there: in a container as root over a user's directory, or by sudo in one's own.
"""

from __future__ import annotations

import hashlib
import os
import pwd
from pathlib import Path

from runbook.onhost import ancestors


def of(root: Path) -> Path:
    """The directory for the lab in `root`, as this user has it."""
    return place(root, _home())


def place(root: Path, home: Path) -> Path:
    """The lab's own directory where that is nobody else's to replace, else one in `home` where that is so."""
    beside = root / "state"
    apart = home / ".local/state/runbook/lab" / hashlib.sha256(os.fsencode(root)).hexdigest()[:16]
    return next((path for path in (beside, apart) if ancestors.problem(str(path)) is None), beside)


def _home() -> Path:
    """The home of the user we are, which after sudo is not what HOME says."""
    try:
        return Path(pwd.getpwuid(os.geteuid()).pw_dir)
    except KeyError:
        return Path.home()
