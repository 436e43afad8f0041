"""systemd's own word on a unit's environment, written anew from systemd.exec(5): what a law of the places is held against."""

from __future__ import annotations

import re
import shlex


def environment(manager: dict[str, str], unit_files: list[str], env_files: list[str]) -> dict[str, str]:
    """What systemd hands to a unit's process, from its manager, its unit file and drop-ins, and its environment files."""
    own: dict[str, str] = {}
    removed: list[str] = []
    for text in unit_files:
        for key, value in _settings(text):
            if key == "Environment":
                own = {**own, **_pairs(value)} if value else {}
            if key == "UnsetEnvironment":
                removed = [*removed, *value.split()] if value else []
    listed = dict(line.split("=", 1) for text in env_files for line in text.splitlines() if _is_entry(line))
    given = {**manager, **own, **{name: value.strip("\"'") for name, value in listed.items()}}
    return {n: v for n, v in given.items() if n not in removed and f"{n}={v}" not in removed}


def _settings(text: str) -> list[tuple[str, str]]:
    lines = re.sub(r"\\\n", " ", text).splitlines()
    return [
        (k, v.strip())
        for k, equals, v in (line.partition("=") for line in lines)
        if equals and k[:1] not in "#;"
    ]


def _pairs(value: str) -> dict[str, str]:
    return dict(word.split("=", 1) for word in shlex.split(value))


def _is_entry(line: str) -> bool:
    return re.match(r"[A-Za-z_][A-Za-z0-9_]*=", line) is not None
