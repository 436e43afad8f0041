"""Load that runs in this process instead of on a host: what ends it early, as errors of ours."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, TypeVar

from runbook.errors import InterruptedByOperator, LoadRefusedError, MeasureError, UnreachableError

if TYPE_CHECKING:
    from collections.abc import Coroutine
    from typing import Any

Result = TypeVar("Result")


def run(load: Coroutine[Any, Any, Result], what: str) -> Result:
    """The result of a load. Raises UnreachableError, LoadRefusedError or MeasureError, one line, where nobody is there, nothing
    could be loaded, or `what` broke off.

    Ctrl-C raises InterruptedByOperator.
    """
    from runbook.load.ending import ClientDiedError
    from runbook.load.preflight import NobodyThere, PreflightFailed

    try:
        return asyncio.run(load)
    except NobodyThere as nobody:
        raise UnreachableError(str(nobody)) from nobody
    except PreflightFailed as refused:
        kind = LoadRefusedError if refused.exit_code == LoadRefusedError.exit_code else MeasureError
        raise kind(str(refused)) from refused
    except KeyboardInterrupt as stop:
        raise InterruptedByOperator("stopped by the operator, nothing is concluded") from stop
    except (ClientDiedError, OSError) as error:
        raise MeasureError(f"the {what} broke off, nothing is concluded: {error}") from error
