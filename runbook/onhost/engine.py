"""Which engine a unit's processes run: versions of the packages they load, and the revision of the checkout they run from.

Read from the file system alone: importing an engine takes seconds, and `git` may refuse another user's checkout.
"""

from __future__ import annotations

import json
import os
import re
from urllib.parse import unquote, urlsplit

from runbook.onhost import cgroups, commandline, environ
from runbook.onhost import units as systemd
from runbook.onhost.calls import reading

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from typing import Any, Optional

    from runbook.onhost.session import Session

# Distributions whose version decides what a server computes, as their dist-info directories are called.
PACKAGES = frozenset(
    (
        "deep_gemm",
        "flashinfer_python",
        "llama_cpp_python",
        "sgl_kernel",
        "sglang",
        "sglang_kernel",
        "sglang_router",
        "smg",
        "torch",
        "transformers",
        "triton",
        "vllm",
    )
)
_SITE = re.compile(r"(/.*?/(?:site|dist)-packages)/")
_DISTRIBUTION = re.compile(r"(.+?)-([^-]+)\.dist-info")
_REVISION = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
_LIMIT_BYTES = 8 * 1024 * 1024
_LIMIT_PIDS = 64
_LIMIT_DEPTH = 40


@reading
def engine(session: Session, units: list[str]) -> dict[str, dict[str, Any]]:
    """By unit: `packages` (name → version), `checkout` (path and revision, or None) and `program`, empty where it is down."""
    alive = cgroups.table(session.proc)
    return {
        unit: _of(session.proc, _pids(session.proc, properties, alive))
        for unit, properties in systemd.show(units, session.scope).items()
    }


def _pids(proc: str, properties: Mapping[str, str], alive: Mapping[int, cgroups.Process]) -> list[int]:
    main = int(properties.get("MainPID") or 0)
    pids, _ = cgroups.members(proc, properties.get("ControlGroup", ""), main, dict(alive))
    return pids[:_LIMIT_PIDS] if main else []


def _of(proc: str, pids: list[int]) -> dict[str, Any]:
    places = list(dict.fromkeys(site for pid in pids for site in sites(proc, pid)))
    found: dict[str, str] = {}
    editable: list[str] = []
    for place in places:
        for name, version, home in distributions(place):
            found.setdefault(name, version)
            editable += [source] if (source := source_of(home)) else []
    works_in = [cwd for pid in pids if (cwd := _link(f"{proc}/{pid}/cwd"))]
    checkouts = (checkout(path) for path in (*editable, *works_in))
    programs = [program for pid in pids if (program := _link(f"{proc}/{pid}/exe")) and not _is_shell(program)]
    return {
        "packages": dict(sorted(found.items())),
        "checkout": next((one for one in checkouts if one), None),
        "program": programs[0] if programs else None,
    }


def _is_shell(program: str) -> bool:
    return environ.is_shell(os.path.basename(program))


def sites(proc: str, pid: int) -> Iterator[str]:
    """The package directories of a process: those it has loaded libraries from, then those of the Python it was started as."""
    yield from dict.fromkeys(_SITE.findall(_text(f"{proc}/{pid}/maps")))
    words = commandline.read(proc, pid)
    for python in (*words[:1], _link(f"{proc}/{pid}/exe")):
        if os.path.isabs(python) and os.path.basename(python).startswith("python"):
            yield from _of_python(os.path.dirname(os.path.dirname(python)))


def _of_python(prefix: str) -> Iterator[str]:
    """`lib/python3.11/site-packages` of an installation or a virtual environment, and Debian's `dist-packages`."""
    library = os.path.join(prefix, "lib")
    for name in sorted(_names(library)):
        if name.startswith("python3"):
            yield from (os.path.join(library, name, kind) for kind in ("site-packages", "dist-packages"))


def distributions(site: str) -> Iterator[tuple[str, str, str]]:
    """The packages of PACKAGES installed in a directory: name, version, dist-info directory."""
    for entry in _names(site):
        match = _DISTRIBUTION.fullmatch(entry)
        name = re.sub(r"[-_.]+", "_", match[1]).lower() if match else ""
        if match and name in PACKAGES:
            yield name, match[2], os.path.join(site, entry)


def source_of(home: str) -> Optional[str]:
    """Where an editable installation's source is (PEP 610); None for any other."""
    try:
        found = json.loads(_text(os.path.join(home, "direct_url.json")))
        url = urlsplit(found["url"])
        editable = found["dir_info"]["editable"] is True and url.scheme == "file" and os.path.isabs(url.path)
    except (ValueError, LookupError, TypeError, AttributeError):
        return None
    return unquote(url.path) if editable else None


def checkout(path: str) -> Optional[dict[str, str]]:
    """The git checkout a directory lies in, and the commit it is at; None where it lies in none."""
    for _ in range(_LIMIT_DEPTH):
        git = os.path.join(path, ".git")
        if os.path.lexists(git):
            revision = _head(_git_directory(git))
            return {"path": path, "revision": revision} if revision else None
        if path in ("/", ""):
            return None
        path = os.path.dirname(path)
    return None


def _git_directory(git: str) -> str:
    """`.git` itself, or where a worktree's or submodule's `.git` file points."""
    if os.path.isdir(git):
        return git
    pointer = _text(git).partition("gitdir:")[2].strip()
    return os.path.normpath(os.path.join(os.path.dirname(git), pointer))


def _head(git: str) -> Optional[str]:
    head = _text(os.path.join(git, "HEAD")).strip()
    if not head.startswith("ref: "):
        return head if _REVISION.fullmatch(head) else None
    return _resolved(git, head[len("ref: ") :])


def _resolved(git: str, ref: str) -> Optional[str]:
    if os.path.isabs(ref) or ".." in ref.split("/"):
        return None
    # A worktree keeps its branches with the repository it belongs to.
    common = _text(os.path.join(git, "commondir")).strip()
    homes = (git, os.path.normpath(os.path.join(git, common))) if common else (git,)
    loose = (_text(os.path.join(home, ref)).strip() for home in homes)
    packed = (line.split(" ")[0] for home in homes for line in _packed(home) if line.endswith(f" {ref}"))
    return next((one for one in (*loose, *packed) if _REVISION.fullmatch(one)), None)


def _packed(home: str) -> Iterable[str]:
    return _text(os.path.join(home, "packed-refs")).splitlines()


def _text(path: str) -> str:
    """A regular file's beginning, empty where it cannot be read."""
    if not path.startswith("/proc/") and not os.path.isfile(path):
        return ""  # a pipe would keep us waiting
    try:
        with open(path, "rb") as file:
            return file.read(_LIMIT_BYTES).decode("utf-8", "surrogateescape")
    except OSError:
        return ""


def _names(directory: str) -> list[str]:
    try:
        return os.listdir(directory)
    except OSError:
        return []


def _link(path: str) -> str:
    try:
        return os.readlink(path)
    except OSError:
        return ""
