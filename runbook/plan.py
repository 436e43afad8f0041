"""What we would change on a host, and why: a frozen value made from one observation.

The diff is a method of its changes, a dry run is not applying it.
"""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

    from runbook.model import Change, Restart
    from runbook.places.told import Told

Environment = dict[str, str | None]


class Plan(NamedTuple):
    """Changes of files, units to restart and why, and the environment each role is meant to get.

    `wanted` maps role → name → value, None meaning absent; it holds what the files will say after the changes.
    `places` tells where flags are set now, as far as there is more to tell than one line of a script, `notes` what
    could not be read and what the engine does about flags that go.
    """

    changes: tuple[Change, ...] = ()
    restarts: tuple[Restart, ...] = ()
    daemon_reload: bool = False
    wanted: Mapping[str, Environment] = {}
    places: tuple[Told, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def empty(self) -> bool:
        """True when nothing is to be done: a valid plan."""
        return not (self.changes or self.restarts or self.daemon_reload)

    @property
    def digest(self) -> str:
        """SHA-256 of everything the plan would do; equal digests mean equal plans."""
        deeds = {
            "changes": [
                [c.path, sha256(c.before), sha256(c.after), c.mode, c.uid, c.gid] for c in self.changes
            ],
            "restarts": [[restart.unit, restart.why] for restart in self.restarts],
            "daemon_reload": self.daemon_reload,
        }
        return hashlib.sha256(json.dumps(deeds, sort_keys=True).encode()).hexdigest()

    def to_json(self) -> dict[str, Any]:
        return {
            "digest": self.digest,
            "changes": [{"path": change.path, "diff": change.diff()} for change in self.changes],
            "restarts": [{"unit": restart.unit, "why": restart.why} for restart in self.restarts],
            "daemon_reload": self.daemon_reload,
            "places": [one.to_json() for one in self.places],
            "notes": list(self.notes),
        }


def sha256(content: bytes | None) -> str | None:
    """The digest of a file's bytes, in hexadecimal; None for an absent file."""
    return None if content is None else hashlib.sha256(content).hexdigest()
