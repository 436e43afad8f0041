"""Edits that understand the file: each kind is a module here with `edit(text, *, set, unset) -> str`, found by its name.

The file that launches a server is edited by `serve_script`, or by `<ending>_script` where there is a module for its ending;
such a module also has `read(text) -> ScriptEnvironment`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from runbook import kinds

if TYPE_CHECKING:
    from types import ModuleType

SHELL = "serve_script"


def named(kind: str) -> ModuleType:
    """The edit module of a kind, for example `serve_script` or `env_file`; imported only now.

    Raises UsageError for a kind without a module here, or a module without `edit`.
    """
    return kinds.named("edits", kind, "edit")


def script_kind(path: str) -> str:
    """The kind of edit for the file that launches a unit's server: by its ending, a shell script where nobody claims that."""
    own = f"{path.rpartition('/')[2].rpartition('.')[2]}_script"
    return own if kinds.exists("edits", own) else SHELL
