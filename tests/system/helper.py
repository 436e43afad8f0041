"""The helper without SSH: started by a command line, spoken to over its pipes, as the wire does over a channel."""

from __future__ import annotations

import itertools
import subprocess
from typing import TYPE_CHECKING, Any

from runbook import bundle
from runbook.onhost import frames
from runbook.ssh import wire
from runbook.ssh.boot import boot_command, payload_frame

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from types import TracebackType

    from runbook.ssh.row import Asked

_NONCE = "feedfacecafebeef"
_SILENCE_S = 3600.0


class PipedWire:
    """A Wire to a helper that was started as `sh -c BOOT` behind `prefix` and in `environ`."""

    mode: wire.Mode

    def __init__(
        self,
        mode: wire.Mode,
        state: str,
        *,
        prefix: Sequence[str] = (),
        environ: Mapping[str, str] | None = None,
    ) -> None:
        self.mode = mode
        self._process = subprocess.Popen(
            [*prefix, "sh", "-c", boot_command("python3", _NONCE)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=environ,
        )
        assert self._process.stdin
        assert self._process.stdout
        self._stdin, self._stdout = self._process.stdin, self._process.stdout
        while self._stdout.read(1) != b";":
            pass
        options = {"mode": mode, "state": state, "silence_s": _SILENCE_S}
        self._stdin.write(payload_frame(bundle.helper_payload()) + frames.encode(options))
        self._stdin.flush()
        self._answers = frames.read(self._stdout)
        self._ids = itertools.count(1)
        wire.value(next(self._answers), "start")

    def call(self, name: str, /, *, deadline_s: float = 60.0, **args: Any) -> Any:
        self._stdin.write(frames.encode({"id": next(self._ids), "call": name, "args": args}))
        self._stdin.flush()
        return wire.value(next(self._answers), name)

    def ask_ahead(self, *row: Asked) -> None:
        """Each is asked when its turn comes."""

    def close(self) -> None:
        self._stdin.close()
        self._stdout.close()
        self._process.wait(timeout=20)

    def __enter__(self) -> PipedWire:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
