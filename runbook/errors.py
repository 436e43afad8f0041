"""Every error runbook raises on purpose, with the exit code it ends in.

RunbookError
├── UsageError 2                 the command line makes no sense
├── UnknownHostError 2           no such host file
├── HostFileError 2              a host file is wrong; every problem at once
├── EditRefusedError 2           a file cannot be edited safely
├── MissingOnHostError 2         a script or unit is not there
├── FileChangedError 2           a file changed between plan and write
├── PreflightError 2             the host is not fit to start: disk, read-only, chat answers 4xx
├── ReleaseError 2               no such release, or one that may not be returned to
├── GateError 1                  a unit never got healthy, or crashed
├── MeasureError 3               a measurement could not be carried out
│   └── LoadRefusedError 2       the load generator would not begin: wrong model, key or numbers
├── RollbackFailedError 4        a person is needed
├── LockedError 6                somebody else is at work on the host
├── UnreachableError 7           no connection, host key or login refused
│   └── LinkLostError 7          the connection died while we worked
├── TunnelError 7                one request through the tunnel got no whole answer; probes judge it
│   ├── TunnelRefused 7          nothing listens on that port of the host
│   ├── TunnelForbidden 7        the host's sshd forbids forwarding
│   ├── TunnelTimeout 7          no whole answer before the deadline
│   └── TunnelCut 7              the answer broke off, or was no HTTP
├── HelperError 70               the helper on the host failed in a way we did not foresee
└── InterruptedByOperator 130    Ctrl-C, or "no" to the question
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


class RunbookError(Exception):
    """Something ended the run; `str()` says what, where, found, wanted and what next.

    `data` is what the host said along with it (docs/architecture.md, error kinds): a lock's holder, a path, a unit.
    """

    exit_code = 70
    data: Mapping[str, Any] = MappingProxyType({})


class UsageError(RunbookError):
    exit_code = 2


class UnknownHostError(RunbookError):
    exit_code = 2

    def __init__(self, name: str, known: Sequence[str]) -> None:
        self.name, self.known = name, tuple(known)
        listed = ", ".join(self.known) or "none"
        super().__init__(
            f"no host named {name!r}; known hosts: {listed} "
            f"(one file a host: hosts/{name}.yml; hosts.adopt writes one of a live host)"
        )


class HostFileError(RunbookError):
    """Every problem of a host file; each is `path:line:column: key: what is wrong`."""

    exit_code = 2

    def __init__(self, problems: Sequence[str]) -> None:
        self.problems = tuple(problems)
        super().__init__("\n".join(self.problems))


class EditRefusedError(RunbookError):
    """A file that cannot be edited safely. `line` is 1-based, None where no line is to blame."""

    exit_code = 2

    def __init__(self, message: str, *, line: int | None = None, path: str = "") -> None:
        self.reason, self.line, self.path = message, line, path
        where = ":".join(str(part) for part in (path, line) if part)
        super().__init__(f"{where}: {message}" if where else message)

    def at(self, path: str) -> EditRefusedError:
        """The same refusal, naming the file."""
        return EditRefusedError(self.reason, line=self.line, path=path)


class MissingOnHostError(RunbookError):
    exit_code = 2


class FileChangedError(RunbookError):
    exit_code = 2


class PreflightError(RunbookError):
    exit_code = 2


class ReleaseError(RunbookError):
    exit_code = 2


class GateError(RunbookError):
    """A unit that crashed or never got healthy; `excerpt` holds its last journal lines."""

    exit_code = 1

    def __init__(self, message: str, *, excerpt: str = "") -> None:
        self.excerpt = excerpt
        super().__init__(message)


class MeasureError(RunbookError):
    exit_code = 3


class LoadRefusedError(MeasureError):
    """Nothing was loaded, since what was asked for makes no sense to the load generator or to the endpoint."""

    exit_code = 2


class RollbackFailedError(RunbookError):
    exit_code = 4


class LockedError(RunbookError):
    exit_code = 6


class UnreachableError(RunbookError):
    exit_code = 7


class LinkLostError(UnreachableError):
    pass


class TunnelError(RunbookError):
    exit_code = 7


class TunnelRefused(TunnelError):
    pass


class TunnelForbidden(TunnelError):
    pass


class TunnelTimeout(TunnelError):
    pass


class TunnelCut(TunnelError):
    pass


class HelperError(RunbookError):
    exit_code = 70


class InterruptedByOperator(RunbookError):
    exit_code = 130
