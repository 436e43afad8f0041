"""Finding a host by its name: its file, the one that comes with runbook, or the Host checked before from these very bytes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from runbook import shipped
from runbook.errors import UnknownHostError, UsageError
from runbook.inventory import exposure, kept

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from runbook.model import Host

_MANUAL = "example"
_EMBEDDED = "lab"  # needs no file of the operator's, who may have one


def known(hosts_dir: Path) -> tuple[str, ...]:
    """Names of the hosts in a directory, one file each, and of the lab, sorted; the commented manual is none."""
    return tuple(sorted({*stems(hosts_dir), _EMBEDDED} - {_MANUAL}))


def file_of(name: str, hosts_dir: Path) -> Path:
    """A known host's file."""
    own = hosts_dir / f"{name}.yml"
    return shipped.path("hosts") / own.name if name == _EMBEDDED and not own.exists() else own


def profiles_beside(host_file: Path) -> dict[str, Path]:
    """Profiles by their names: those that come with runbook, and before them those beside the host file."""
    folders = dict.fromkeys((shipped.path("hosts/profiles"), host_file.parent / "profiles"))
    return {name: folder / f"{name}.yml" for folder in folders for name in stems(folder)}


def stems(directory: Path) -> tuple[str, ...]:
    """Names of a directory's YAML files, without their ending, sorted."""
    return tuple(sorted(path.stem for path in directory.glob("*.yml") if not _endless(path)))


def _endless(path: Path) -> bool:
    """A pipe or a device, which nobody need ever end: reading it would wait for ever."""
    return path.is_fifo() or path.is_char_device()


def exposed(host: Host, *, hosts_dir: Path) -> Iterator[str]:
    """What is wrong with who may write the files a host was read from, its own and its profile, a sentence each."""
    own = file_of(host.name, hosts_dir)
    profile = profiles_beside(own).get(host.profile or "")
    yield from exposure.warnings((own, profile) if profile else (own,))


def load(name: str, *, hosts_dir: Path, variables: Mapping[str, Any] | None = None) -> Host:
    """The host `name` of `hosts_dir`, its profile laid under it.

    `variables` fill the file's `{{ … }}` first. Raises UnknownHostError for a name without a file (a path is no
    name), UsageError for the manual's, HostFileError with every problem of the file and its profile, each
    `path:line:column: key: text`.
    """
    names = known(hosts_dir)
    if name == _MANUAL:
        manual = shipped.shown("hosts/example.yml")
        raise UsageError(
            f"{manual} is the manual of a host file and no host; known hosts: {', '.join(names)}"
        )
    if name not in names:
        raise UnknownHostError(name, names)
    try:
        own = file_of(name, hosts_dir)
        place = kept.path_of(name, own, profiles_beside(own).values(), variables)
    except OSError:
        return _parsed(name, hosts_dir, variables)  # which says what cannot be read
    host = kept.read(place)
    if host is None:
        host = _parsed(name, hosts_dir, variables)
        kept.keep(place, host)
    return host


def _parsed(name: str, hosts_dir: Path, variables: Mapping[str, Any] | None) -> Host:
    from runbook.inventory import hostfile

    return hostfile.parse(name, file_of(name, hosts_dir), variables=variables)
