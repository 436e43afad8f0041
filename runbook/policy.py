"""What the audit of a change must hold, asked before the host is connected to."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from runbook.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from runbook.audit.signing import Signer
    from runbook.model import Host

KEY_VARIABLE = "RUNBOOK_SIGNING_KEY"
LONGEST_REASON = 1000


def signer(environ: Mapping[str, str]) -> Signer | None:
    """The operator's key, tried once so that it does not fail at the end of a rollout; None where none is named.

    Raises SigningError where the key will not sign.
    """
    named = environ.get(KEY_VARIABLE)
    if not named:
        return None
    from runbook.audit.signing import Signer  # most operators sign nothing

    found = Signer(Path(named).expanduser())
    found.sign(b"runbook asks whether this key signs")
    return found


def require(host: Host, action: str, reason: str, *, signed: bool) -> None:
    """Raise UsageError unless a change of this host is told of as its policy wants."""
    if host.policy.reason == "required" and not reason.strip():
        raise UsageError(f"{host.source}: policy.reason is required: {action} wants --reason, why it is done")
    if len(reason) > LONGEST_REASON:
        raise UsageError(
            f"--reason should be at most {LONGEST_REASON} characters, found {len(reason)}; point to a page instead"
        )
    if host.policy.signature == "required" and not signed:
        raise UsageError(
            f"{host.source}: policy.signature is required: {KEY_VARIABLE} should name your SSH key (the .pub of one in an agent)"
        )
