"""The audit as it is read here: records, the mirrors of the hosts' chains, and whether a chain holds."""

from runbook.audit.finding import find, in_mirrors, known, mirror_of
from runbook.audit.mirroring import directory, forget, mirror, path_of
from runbook.audit.record import Record, records

__all__ = [
    "Record",
    "directory",
    "find",
    "forget",
    "in_mirrors",
    "known",
    "mirror",
    "mirror_of",
    "path_of",
    "records",
]
