"""Host files: YAML to Host, every error at once."""

from runbook.inventory.documents import document
from runbook.inventory.hostfile import known, load, parse
from runbook.inventory.overrides import overridden

__all__ = ["document", "known", "load", "overridden", "parse"]
