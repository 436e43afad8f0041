"""Finding a host by its name: its file, or the Host that was checked before from these very bytes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from runbook.errors import UnknownHostError
from runbook.inventory import kept

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from runbook.model import Host

_MANUAL = "example"


def known(hosts_dir: Path) -> tuple[str, ...]:
    """Names of the hosts in a directory, one file each, sorted; the commented manual is none."""
    return tuple(name for name in stems(hosts_dir) if name != _MANUAL)


def stems(directory: Path) -> tuple[str, ...]:
    """Names of a directory's YAML files, without their ending, sorted."""
    return tuple(sorted(path.stem for path in directory.glob("*.yml") if not _endless(path)))


def _endless(path: Path) -> bool:
    """A pipe or a device, which nobody need ever end: reading it would wait for ever."""
    return path.is_fifo() or path.is_char_device()


def load(name: str, *, hosts_dir: Path, variables: Mapping[str, Any] | None = None) -> Host:
    """The host `name` of `hosts_dir`, its profile laid under it.

    `variables` fill the file's `{{ … }}` first. Raises UnknownHostError for a name without a file (a path is no
    name), HostFileError with every problem of the file and its profile, each `path:line:column: key: text`.
    """
    names = known(hosts_dir)
    if name not in names:
        raise UnknownHostError(name, names)
    try:
        place = kept.path_of(name, hosts_dir, variables)
    except OSError:
        return _parsed(name, hosts_dir, variables)  # which says what cannot be read
    host = kept.read(place)
    if host is None:
        host = _parsed(name, hosts_dir, variables)
        kept.keep(place, host)
    return host


def _parsed(name: str, hosts_dir: Path, variables: Mapping[str, Any] | None) -> Host:
    from runbook.inventory import hostfile

    return hostfile.parse(name, hosts_dir / f"{name}.yml", variables=variables)
