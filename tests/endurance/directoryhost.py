"""A host of which everything that lies on a disk is real: files, releases, audit, lock. Its units, processes and load are not.

Calls that touch the disk go to the helper's own code in this process, by a session for each rollout as over SSH; the
others to the host in memory.
"""

from __future__ import annotations

import contextlib
from collections.abc import MutableMapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from runbook.model import Flag, Unit
from runbook.ssh import InProcessWire
from tests.building import DECODE, FLAGS, PREFILL, UNITS, host
from tests.fakehost import FakeHost

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from runbook.model import Host
    from runbook.ssh.wire import Mode

_ON_DISK = frozenset(
    (
        "audit_append",
        "audit_place",
        "audit_read",
        "inflight",
        "inflight_step",
        "lock",
        "lock_step",
        "release_prune",
        "release_read",
        "release_save",
        "release_update",
        "set_current",
    )
)
CHANGING = "SERVE_ROUND"
"""The flag whose value is another in each host file."""


class DirectoryHost(FakeHost):
    """A prefill/decode/router host whose files lie below `root`. `working` opens its wire and closes it again."""

    def __init__(self, root: Path, **fields: Any) -> None:
        (root / "root").mkdir(parents=True)
        super().__init__(**fields)
        self.files = Files(self.files)  # type: ignore[assignment]  # a mapping all the same
        self._proc = root / "proc"
        self._proc.mkdir()
        self._wire: InProcessWire | None = None

    @contextlib.contextmanager
    def working(self, mode: Mode) -> Iterator[DirectoryHost]:
        """The wire of one rollout."""
        self.mode = mode
        self.calls.clear()
        with InProcessWire(mode, proc=str(self._proc)) as self._wire:
            yield self

    def call(self, name: str, /, *, deadline_s: float = 60.0, **args: Any) -> Any:
        return self._helper(name, **args) if name in _ON_DISK else super().call(name, **args)

    def _helper(self, name: str, **args: Any) -> Any:
        assert self._wire is not None
        return self._wire.call(name, **args)

    def _observe(self, files: list[str], units: list[str], **rest: Any) -> dict[str, Any]:
        seen = self._helper("observe", files=files, units=[], **rest)
        return {**super()._observe(files, units), "state": seen["state"], "disk": seen["disk"]}

    def _files_write(self, changes: list[dict[str, Any]]) -> Any:
        written = self._helper("files_write", changes=changes)
        self.ctimes |= {change["path"]: self.clock.now for change in changes}
        return written


class Files(MutableMapping[str, bytes]):
    """Files by their absolute paths, read anew each time. It lists those it was given."""

    def __init__(self, contents: Mapping[str, bytes]) -> None:
        self._paths = tuple(contents)
        for path, content in contents.items():
            self[path] = content

    def __getitem__(self, path: str) -> bytes:
        try:
            return Path(path).read_bytes()
        except FileNotFoundError:
            raise KeyError(path) from None

    def __setitem__(self, path: str, content: bytes) -> None:
        Path(path).write_bytes(content)

    def __delitem__(self, path: str) -> None:
        Path(path).unlink()

    def __iter__(self) -> Iterator[str]:
        return (path for path in self._paths if Path(path).exists())

    def __len__(self) -> int:
        return len(list(iter(self)))


def declared(root: Path, value: str, **fields: Any) -> Host:
    """The host file of a machine whose disk is `root`, with a value for CHANGING."""
    scripts = {path: f"{root}{path}" for path in (PREFILL, DECODE)}
    return host(
        state_dir=str(root / "state"),
        units=tuple(
            Unit(unit.role, unit.name, scripts.get(unit.script or ""), unit.health, unit.url)
            for unit in UNITS
        ),
        flags=(Flag(CHANGING, value, "the test changes it", ("decode",)), *FLAGS[1:]),
        **fields,
    )
