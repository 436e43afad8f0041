"""A unit's journal: its last lines, bounded."""

from __future__ import annotations

import contextlib
import re
import signal
import threading

from runbook.onhost import command
from runbook.onhost.calls import Refusal, reading
from runbook.onhost.masking import mask_logins, mask_text
from runbook.onhost.scope import journal_of
from runbook.onhost.units import last_pid, named

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from runbook.onhost.session import Session

LIMIT_BYTES = 256 * 1024
SEARCH_S = 10.0  # of searching; three pings unanswered, 35 s, and the link counts as dead
LIMIT_LINES = 20_000


@reading
def journal(
    session: Session, unit: str, lines: int = 200, since: float | None = None, grep: str | None = None
) -> dict[str, str]:
    # The search is ours: journalctl has --grep only where it was built with PCRE.
    asked = LIMIT_LINES if grep else min(lines, LIMIT_LINES)
    argv = [
        "journalctl",
        "--no-pager",
        "--quiet",
        "--output=short-iso",
        f"--lines={asked}",
    ]
    if since is not None:
        argv.append(f"--since=@{since:.6f}")
    # A PID is one process' only for a while: without a moment to start from it says nothing.
    pid = last_pid(unit, "user") if session.scope == "user" and since is not None else 0
    argv += journal_of(session.scope, named(unit), pid)
    return {"text": select(command.run(argv, expect=(0, 1)), lines, grep)}


def select(text: str, lines: int, grep: str | None, *, budget_s: float = SEARCH_S) -> str:
    """The last lines that match, at most LIMIT_BYTES of them, secrets masked: servers log their own arguments."""
    found: list[str] = text.splitlines()
    if grep:
        pattern = _pattern(grep)
        with _bounded(grep, budget_s):
            found = list(filter(pattern.search, found))
    masked = mask_logins(mask_text("\n".join(found[-lines:] if lines else [])))
    kept = masked.encode("utf-8", "replace")[-LIMIT_BYTES:]
    return kept.decode("utf-8", "ignore")


def _pattern(grep: str) -> re.Pattern[str]:
    try:
        return re.compile(grep)
    except (re.error, RecursionError, OverflowError) as error:
        raise Refusal("invalid", f"{grep!r} is no regular expression: {error}") from None


@contextlib.contextmanager
def _bounded(grep: str, budget_s: float) -> Iterator[None]:
    """End a search that would take for ever, as of `(a+)+$`: it keeps pings waiting too, and only a signal gets in."""

    def give_up(*_: object) -> None:
        raise Refusal("invalid", f"{grep!r} was still searching after {budget_s:g} s; a simpler one will do")

    if threading.current_thread() is not threading.main_thread():  # where no signal is taken
        yield
        return
    before = signal.signal(signal.SIGALRM, give_up)
    signal.setitimer(signal.ITIMER_REAL, budget_s)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
