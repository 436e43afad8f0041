"""What stands in a row of the flag table for a value that is no literal: no flag and no argument can want these texts."""

from __future__ import annotations

DYNAMIC = "(decided when the script runs)"
UNREADABLE = "(its script cannot be read)"
GONE = "(its script is not there)"
DENIED = "(not readable by this login)"
ALONE = "(stands alone)"
UNKNOWN = "(unknown)"

TEXTS = (DYNAMIC, UNREADABLE, GONE, DENIED, ALONE, UNKNOWN)
