"""Host files: YAML to Host, every error at once."""

from runbook.inventory.adopt import adopt_text, roles
from runbook.inventory.documents import document
from runbook.inventory.hostfile import known, load, parse
from runbook.inventory.overrides import overridden

__all__ = ["adopt_text", "document", "known", "load", "overridden", "parse", "roles"]
