"""The flag ledger: flags that are undeclared, expired, unread, misspelt, diagnostic, repeated or unlike across the pair."""

from runbook.ledger.catalogue import SHIPPED, Catalogue, parse
from runbook.ledger.findings import findings
from runbook.ledger.settings import Setting, of_processes, of_script

__all__ = ["SHIPPED", "Catalogue", "Setting", "findings", "of_processes", "of_script", "parse"]
