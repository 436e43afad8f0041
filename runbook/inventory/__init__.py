"""Host files: YAML to Host, every error at once."""

from runbook.inventory.hostfile import known, load, parse
from runbook.inventory.overrides import overridden

__all__ = ["known", "load", "overridden", "parse"]
