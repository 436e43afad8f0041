"""Bench results kept here under a name, in .runbook/benches/, and results read from any file."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from runbook.errors import UsageError
from runbook.load.refusing import may_write

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

FOLDER = Path(".runbook") / "benches"
_NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]{0,98}[A-Za-z0-9])?")
_MOST_BYTES = 64 << 20  # an --output-file holds every request, but its first line is the result


def free(directory: Path, name: str) -> Path:
    """Where a result of this name will stand. Raises UsageError for what is no name, and for one that is taken.

    A kept result is a baseline that others may compare with: it is never overwritten.
    """
    if not _NAME.fullmatch(name):
        raise UsageError(f"--save {name!r}: should be a name of letters, digits, dots and dashes")
    path = directory / FOLDER / f"{name}.json"
    if path.exists():
        raise UsageError(f"--save {name}: {path} is there already; take another name, or move it away")
    return path


def save(path: Path, result: Mapping[str, Any]) -> None:
    """Write a result that only its owner may read; raises UsageError."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        with os.fdopen(
            os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600), "w"
        ) as file:
            file.write(json.dumps(result) + "\n")
    except OSError as error:
        raise UsageError(f"--save: {path}: {error.strerror}") from error


def writable(text: str) -> Path:
    """Where an --output-file will stand; raises UsageError where it could not be written once the load is over."""
    path = Path(text).absolute()
    if not may_write(path):
        raise UsageError(f"--output-file: no file can be written at {text}")
    return path


def write(path: Path, result: Mapping[str, Any], requests: Iterable[Mapping[str, Any]]) -> None:
    """The result as one JSON line and every request as one more; raises UsageError."""
    try:
        with path.open("w", encoding="utf-8") as file:
            file.writelines(
                json.dumps(document) + "\n"
                for document in ({**result, "requests_file": str(path)}, *requests)
            )
    except OSError as error:
        raise UsageError(f"--output-file: {path}: {error.strerror}") from error


def saved(directory: Path) -> tuple[str, ...]:
    """The names there are, sorted."""
    return tuple(sorted(path.stem for path in (directory / FOLDER).glob("*.json")))


def find(directory: Path, text: str) -> dict[str, Any] | None:
    """The result in a file of this path, or kept under this name; None where there is neither.

    A file is a result, an --output-file, or the document of a deploy, verify or bench with --json. Raises UsageError.
    """
    kept = directory / FOLDER / f"{text}.json"
    path = kept if _NAME.fullmatch(text) and _is_file(kept) else directory / text
    return _read(path) if _is_file(path) else None


def _is_file(path: Path) -> bool:
    """No name that is too long for one is a file's."""
    try:
        return path.is_file()
    except OSError:
        return False


def _read(path: Path) -> dict[str, Any]:
    try:
        with path.open(encoding="utf-8") as file:
            text = file.readline(_MOST_BYTES)
            document = json.loads(text if text.rstrip().endswith("}") else text + file.read(_MOST_BYTES))
    except OSError as error:
        raise UsageError(f"--against {path}: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise UsageError(f"--against {path}: no JSON document: {error}") from error
    return _result(path, document)


def _result(path: Path, document: object) -> dict[str, Any]:
    """The bench result in a document. Raises UsageError naming what is there instead."""
    from runbook.load.bench.result import BenchResult, ResultError

    found = document if isinstance(document, dict) else {}
    if isinstance(rollout := found.get("bench"), dict):
        found = rollout.get("result") or {}
    try:
        BenchResult.from_json(found)
    except ResultError as error:
        raise UsageError(f"--against {path}: {error}") from error
    return found
