"""What `bench` is asked for on the command line: of a host or of a URL, against what, kept under which name."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from runbook import benches
from runbook.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

# Named as in `python -m runbook.load bench`; all its other options are said as --option NAME=VALUE.
SIZES = (
    "model", "concurrency", "max_concurrency", "repeats", "num_prompts", "budget", "duration", "request_rate",
    "random_input_len", "random_output_len", "slo", "processes", "tokenizer", "output_file", "max_regression", "accept",
    "api_key_env",
)  # fmt: skip
_RELEASE = re.compile(r"\d{1,8}(T|$)")  # how the id of a release begins (work.new_id)
# What a host's file says, or what only this machine has.
OF_A_URL = ("model", "tokenizer", "api_key_env")
# Options of the load generator that are said otherwise here, or mean nothing here.
OWN = ("base-url", "jsonl", "against")


def check(given: Mapping[str, Any]) -> None:
    """Raises UsageError for a command line that contradicts itself."""
    if "@" in urlsplit(given.get("url") or "").netloc:  # it would stand in every document
        raise UsageError(
            "--url: should be without a login; --api-key-env names the variable that holds a key"
        )
    if given.get("url") and given.get("host"):
        raise UsageError("--host and --url contradict each other: one of them")
    if len(given.get("host") or ()) > 1 and (given.get("save") or given.get("output_file")):
        raise UsageError("--save and --output-file keep one result: one --host")
    for name in () if given.get("url") else OF_A_URL:
        if given.get(name):
            raise UsageError(f"--{name.replace('_', '-')} goes with --url; a host's file says the rest")
    for assignment in given.get("option") or ():
        if (name := assignment.partition("=")[0].replace("_", "-")) in OWN:
            raise UsageError(f"--option {name} means nothing here")


def targets(directory: Path, given: Mapping[str, Any]) -> dict[str, Any]:
    """`against`, `baseline` (the result it names, if it stands in a file here), `save` and `output`, checked.

    Raises UsageError.
    """
    against, save, output = (given.get(name) or None for name in ("against", "save", "output_file"))
    baseline = benches.find(directory, against) if against else None
    if against and baseline is None and (given.get("url") or not _RELEASE.match(against)):
        known = ", ".join(benches.saved(directory)) or "none"
        no_release = "" if given.get("url") else "it is no release's id, "
        raise UsageError(
            f"--against {against}: {no_release}there is no such file, and no result of that name; there are: {known}"
        )
    return {
        "against": against,
        "baseline": baseline,
        "save": benches.free(directory, save) if save else None,
        "output": benches.writable(output) if output else None,
    }
