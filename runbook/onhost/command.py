"""Run a program of the host's own: argv, never a shell; C locale; bounded in time and output."""

from __future__ import annotations

import os
import subprocess

from runbook.onhost.calls import Refusal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

LIMIT_BYTES = 4 * 1024 * 1024
_LAST_LINES = 10


def run(argv: Sequence[str], *, timeout_s: float = 30.0, expect: Sequence[int] = (0,)) -> str:
    """Standard output of a program that ended in one of the expected exit codes.

    Refusal `missing` where there is no such program, `failed` with command, exit code and last lines otherwise.
    """
    try:
        done = subprocess.run(
            list(argv),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=timeout_s,
            env=_environment(),
            check=False,
        )
    except FileNotFoundError:
        raise Refusal("missing", f"no program {argv[0]} on this host", {"command": list(argv)}) from None
    except subprocess.TimeoutExpired:
        raise _failed(argv, None, f"no answer within {timeout_s:.0f} s") from None
    if done.returncode not in expect:
        raise _failed(argv, done.returncode, _text(done.stderr or done.stdout))
    return _text(done.stdout)


def _environment() -> dict[str, str]:
    return {**os.environ, "LC_ALL": "C", "SYSTEMD_COLORS": "0", "SYSTEMD_PAGER": "", "SYSTEMD_LESS": ""}


def _text(content: bytes) -> str:
    return content[-LIMIT_BYTES:].decode("utf-8", "replace")


def _failed(argv: Sequence[str], code: int | None, output: str) -> Refusal:
    lines = output.strip().splitlines()[-_LAST_LINES:]
    ended = "did not end" if code is None else f"exited {code}"
    detail: dict[str, Any] = {"command": list(argv), "exit": code, "lines": lines}
    return Refusal("failed", "\n".join([f"`{' '.join(argv)}` {ended}", *lines]), detail)
