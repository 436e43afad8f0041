"""What a worker writes to stderr, where its unit's journal keeps it."""

from __future__ import annotations

import logging
import sys

from aiohttp.http_exceptions import HttpProcessingError


def open_log() -> logging.Logger:
    """The log of this process: a line a state, and tracebacks of what went wrong in a handler."""
    log = logging.getLogger("runbook.lab.worker")
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(logging.Formatter("[%(asctime)s] %(message)s"))
    log.addHandler(handler)
    log.addFilter(_not_a_probe)
    log.setLevel(logging.INFO)
    return log


def _not_a_probe(record: logging.LogRecord) -> bool:
    """sglang-router first asks in gRPC whether a worker speaks it; aiohttp would log that as an error."""
    return not (record.exc_info and isinstance(record.exc_info[1], HttpProcessingError))
