"""How a command of the load generator ends: with an exit code, and one line where nothing came of it."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from runbook.load.outcome import Outcome
from runbook.load.preflight import PreflightFailed
from runbook.load.saying import write

if TYPE_CHECKING:
    from collections.abc import Callable

_EXIT = {Outcome.PASS: 0, Outcome.FAIL: 1, Outcome.ERROR: 2, Outcome.INCONCLUSIVE: 3}
_REFUSED, _INCONCLUSIVE = 2, 3


class ClientDiedError(RuntimeError):
    """A client process ended before its part of the load did: a defect, or the machine ran out of memory."""


def exit_code(command: Callable[[], Outcome], *refusals: type[Exception]) -> int:
    """The exit code of a command: 0 pass, 1 fail, 2 error or refused, 3 inconclusive, nobody answered, or broken off.

    `refusals` are the errors that say, in one line, that the command makes no sense.
    """
    try:
        return _EXIT[command()]
    except refusals as error:
        return _early(str(error), _REFUSED)
    except PreflightFailed as refused:
        return _early(str(refused), refused.exit_code)
    except ClientDiedError as error:
        return _early(str(error), _INCONCLUSIVE)
    except KeyboardInterrupt:
        return _early("interrupted, nothing is concluded", _INCONCLUSIVE)


def _early(message: str, code: int) -> int:
    write(sys.stderr, [message])
    return code
