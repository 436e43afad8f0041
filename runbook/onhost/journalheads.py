"""The chain's head in the host's journal: another file, written by another program, which shows when the chain's end is cut."""

from __future__ import annotations

import os
import re

from runbook.onhost import command
from runbook.onhost.calls import Refusal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

TAG = "runbook-audit"
LIMIT_LINES = 20_000
_TIMEOUT_S = 5.0  # the record is on the disk; the journal must not hold up the end of a rollout
_MESSAGE = re.compile(r"(?P<state>/.*) #(?P<seq>[0-9]{1,15}) (?P<hash>[0-9a-f]{64})")


def tell(state: str, record: Mapping[str, Any]) -> str:
    """Send a record's place and hash to the journal; returns why it could not be sent, empty when it was."""
    message = f"{state} #{record['seq']} {record['hash']}"
    try:
        command.run(["logger", "-t", TAG, "--", message], timeout_s=_TIMEOUT_S)
    except Refusal as refusal:
        return refusal.message
    return ""


def known(state: str) -> dict[str, Any]:
    """The `heads` the journal still has of a chain, as `[seq, hash]`, oldest first; `detail` says why there are none.

    Only messages of our own uid count: any user of the host may log under any tag.
    """
    argv = ["journalctl", "--no-pager", "--quiet", "--output=cat", f"--lines={LIMIT_LINES}"]
    try:
        text = command.run([*argv, f"--identifier={TAG}", f"_UID={os.geteuid()}"], expect=(0, 1))
    except Refusal as refusal:
        return {"heads": [], "detail": refusal.message}
    heads = [[int(found["seq"]), found["hash"]] for found in _messages(text) if found["state"] == state]
    return {"heads": heads, "detail": "" if heads else "the journal knows nothing of this chain"}


def _messages(text: str) -> list[re.Match[str]]:
    return [found for line in text.splitlines() if (found := _MESSAGE.fullmatch(line))]
