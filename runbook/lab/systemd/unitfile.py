"""A unit file and its drop-ins, read as systemd reads them (systemd.unit(5), systemd.service(5))."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from runbook.lab.systemd.words import is_assignment, parse_boolean, parse_span, split_words

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

_LIMIT_BYTES = 256 * 1024
_COLLECTED = {"After", "Environment", "EnvironmentFile", "ExecStart", "WantedBy"}
_TYPES = {"simple", "exec", "oneshot"}
_RESTARTS = {"no", "always", "on-success", "on-failure", "on-abnormal", "on-abort"}
_KILL_MODES = {"control-group", "mixed", "process", "none"}


@dataclass(frozen=True, slots=True)
class EnvironmentFile:
    path: str
    optional: bool


@dataclass(frozen=True, slots=True)
class UnitFile:
    """What a unit's files say. `load_state` is loaded, not-found, masked, bad-setting or error.

    `stamp` holds path and mtime of every file read, so that a later look can tell whether they changed; drop-ins
    are only looked for again where their directory was there (`dropins_known`): systemd caches its directories, and
    misses a unit's first drop-in until the next daemon-reload.
    Times are in seconds. `argv` is not yet expanded: variables belong to the moment of the start.
    """

    name: str
    load_state: str = "not-found"
    fragment: str = ""
    dropins: tuple[str, ...] = ()
    stamp: tuple[tuple[str, int], ...] = ()
    dropins_known: bool = False
    description: str = ""
    after: tuple[str, ...] = ()
    wanted_by: tuple[str, ...] = ()
    type: str = "simple"
    argv: tuple[str, ...] = ()
    ignore_failure: bool = False
    environment: Mapping[str, str] = field(default_factory=dict)
    environment_files: tuple[EnvironmentFile, ...] = ()
    working_directory: str = "/"
    restart: str = "no"
    restart_s: float = 0.1
    stop_s: float = 90.0
    start_s: float = 90.0
    kill_mode: str = "control-group"
    remain_after_exit: bool = False
    burst: int = 5
    interval_s: float = 10.0
    problem: str = ""

    @property
    def title(self) -> str:
        """The name systemd gives it in messages: `a.service - What it is`."""
        return f"{self.name} - {self.description}" if self.description else self.name


def parse_sections(text: str) -> list[tuple[str, str, str]]:
    """(section, key, value) in order; comments and blank lines dropped, continuation lines joined."""
    found: list[tuple[str, str, str]] = []
    section = ""
    for line in logical_lines(text):
        if line.startswith("[") and line.endswith("]"):
            section = line[1:-1]
        elif "=" in line:
            key, _, value = line.partition("=")
            found.append((section, key.strip(), value.strip()))
    return found


def logical_lines(text: str) -> Iterable[str]:
    """Lines with their continuations joined; comments and blank lines left out, between continuations too."""
    held = ""
    for raw in text.splitlines():
        line = raw.strip()
        if line.startswith(("#", ";")) or (not line and not held):
            continue
        if line.endswith("\\"):
            held += line[:-1] + " "
            continue
        yield (held + line).strip()
        held = ""
    if held:
        yield held.strip()


def load_unit(directory: Path, name: str) -> UnitFile:
    """The unit of that name in `directory`, with `NAME.d/*.conf` in name order; never raises for what is in it."""
    path = directory / name
    if not path.exists():
        return UnitFile(name)
    if path.resolve() == Path("/dev/null"):
        return UnitFile(name, "masked", fragment=str(path))
    home = _dropin_home(directory, name)
    dropins = tuple(sorted(home.glob("*.conf")))
    sources = (path, *dropins)
    unit = UnitFile(
        name, "loaded", str(path), tuple(map(str, dropins)), stamp_of(sources), dropins_known=home.is_dir()
    )
    settings: dict[tuple[str, str], list[str]] = {}
    try:
        settings = collect(entry for source in sources for entry in parse_sections(read_bounded(source)))
        return configure(unit, settings)
    except (OSError, ValueError) as error:
        wanted_by = tuple(" ".join(settings.get(("Install", "WantedBy"), ())).split())
        return replace(unit, load_state="bad-setting", problem=str(error), wanted_by=wanted_by)


def _dropin_home(directory: Path, name: str) -> Path:
    return directory / f"{name}.d"


def read_bounded(path: Path) -> str:
    """A file's text, its first 256 KiB; OSError where it cannot be read."""
    with path.open("rb") as stream:
        return stream.read(_LIMIT_BYTES).decode("utf-8", "replace")


def stamp_of(paths: Iterable[Path]) -> tuple[tuple[str, int], ...]:
    """Path and modification time in ns (0 where the file is gone)."""
    return tuple((str(path), _mtime_ns(path)) for path in paths)


def _mtime_ns(path: Path) -> int:
    try:
        return path.stat().st_mtime_ns
    except OSError:
        return 0


def needs_reload(directory: Path, unit: UnitFile) -> bool:
    """Whether the files on disk are other than the ones this unit was loaded from."""
    if unit.load_state == "not-found":
        return False
    dropins = sorted(_dropin_home(directory, unit.name).glob("*.conf")) if unit.dropins_known else ()
    now = (directory / unit.name, *dropins)
    return stamp_of(now) != (unit.stamp or stamp_of(now))


def collect(entries: Iterable[tuple[str, str, str]]) -> dict[tuple[str, str], list[str]]:
    """Values by (section, key): lists gather and an empty value resets them, of the others the last counts."""
    settings: dict[tuple[str, str], list[str]] = {}
    for section, key, value in entries:
        held = settings.setdefault((section, key), [])
        if key not in _COLLECTED or not value:
            held.clear()
        if value:
            held.append(value)
    return settings


def configure(unit: UnitFile, settings: Mapping[tuple[str, str], list[str]]) -> UnitFile:
    """The unit with its settings; ValueError for one that cannot be used."""

    def one(section: str, key: str, default: str) -> str:
        return (settings.get((section, key)) or [default])[-1]

    def listed(section: str, key: str) -> tuple[str, ...]:
        return tuple(word for value in settings.get((section, key), ()) for word in split_words(value))

    argv, ignore = _exec_start(settings.get(("Service", "ExecStart"), []))
    return replace(
        unit,
        description=one("Unit", "Description", ""),
        after=listed("Unit", "After"),
        wanted_by=listed("Install", "WantedBy"),
        type=_choice("Type", one("Service", "Type", "simple"), _TYPES),
        argv=argv,
        ignore_failure=ignore,
        environment=_assignments(listed("Service", "Environment")),
        environment_files=tuple(map(_environment_file, settings.get(("Service", "EnvironmentFile"), ()))),
        working_directory=one("Service", "WorkingDirectory", "/"),
        restart=_choice("Restart", one("Service", "Restart", "no"), _RESTARTS),
        restart_s=parse_span(one("Service", "RestartSec", "100ms")),
        stop_s=_stop_span(one("Service", "TimeoutStopSec", one("Service", "TimeoutSec", "90"))),
        start_s=_stop_span(one("Service", "TimeoutStartSec", one("Service", "TimeoutSec", "90"))),
        kill_mode=_choice("KillMode", one("Service", "KillMode", "control-group"), _KILL_MODES),
        remain_after_exit=parse_boolean(one("Service", "RemainAfterExit", "no")),
        burst=int(one("Unit", "StartLimitBurst", "5")),
        interval_s=parse_span(one("Unit", "StartLimitIntervalSec", "10")),
    )


def _choice(key: str, value: str, known: set[str]) -> str:
    if value not in known:
        raise ValueError(f"{key}={value}: the lab knows {', '.join(sorted(known))}")
    return value


def _stop_span(text: str) -> float:
    return parse_span(text) or float("inf")  # 0 switches the limit off


def _exec_start(commands: list[str]) -> tuple[tuple[str, ...], bool]:
    if len(commands) != 1:
        raise ValueError(f"Service has {len(commands)} ExecStart= settings, wanted one")
    command = commands[0]
    bare = command.lstrip("-@:+!")
    argv = split_words(bare)
    if not argv or ("/" in argv[0] and not argv[0].startswith("/")):
        raise ValueError(f"ExecStart={command}: wanted a name or an absolute path")
    return argv, "-" in command[: len(command) - len(bare)]


def _assignments(words: Iterable[str]) -> dict[str, str]:
    return {name: value for name, _, value in (word.partition("=") for word in words if is_assignment(word))}


def _environment_file(value: str) -> EnvironmentFile:
    return EnvironmentFile(value.removeprefix("-"), value.startswith("-"))


def names_in(directory: Path) -> tuple[str, ...]:
    """The service units of a directory, in name order."""
    return tuple(sorted(entry.name for entry in directory.glob("*.service")))
