"""The variables worth following although nobody declared them: the engine's own, and those of the libraries under it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

PATTERNS = (r"SGLANG_\w+", r"SGL_\w+", r"VLLM_\w+", r"NCCL_\w+", r"CUDA_\w+", r"TORCH_\w+", r"PYTORCH_\w+")

# What systemd gives its units by itself (systemd.exec(5), "Environment Variables Set or Propagated by the Service
# Manager"), and what a shell does.
_AMBIENT = (
    r"PATH|LANG|LANGUAGE|TZ|TERM|USER|LOGNAME|HOME|SHELL|XDG_RUNTIME_DIR|DBUS_SESSION_BUS_ADDRESS",
    r"INVOCATION_ID|JOURNAL_STREAM|SYSTEMD_EXEC_PID|MAINPID|MANAGERPID|MANAGERPIDFDID|DEBUG_INVOCATION",
    r"NOTIFY_SOCKET|WATCHDOG_\w+|LISTEN_\w+|FDSTORE|MEMORY_PRESSURE_\w+",
    r"(?:RUNTIME|STATE|CACHE|LOGS|CONFIGURATION|CREDENTIALS)_DIRECTORY",
    r"PWD|OLDPWD|SHLVL|_",
)


def is_ambient(name: str) -> bool:
    """Whether a start has this name although no file says so."""
    return re.fullmatch("|".join(_AMBIENT), name) is not None


def followed(names: Iterable[str]) -> re.Pattern[str]:
    """What matches the declared `names` and everything like them, as a whole word."""
    return re.compile(rf"(?<!\w)(?:{'|'.join((*PATTERNS, *map(re.escape, names)))})(?!\w)")
