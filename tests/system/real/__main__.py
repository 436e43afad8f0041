"""What the tasks of the lab run for `--real`: `python -m tests.system.real ACTION DIRECTORY [--reset] [--json]`."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from runbook import app, interrupt, labtasks, shipped
from runbook.errors import InterruptedByOperator, PreflightError, RunbookError
from runbook.request import Request
from tests.system.boot.commands import ProgramFailed
from tests.system.real import switch
from tests.system.real.standing import ALIAS

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tests.system.real.standing import Standing

_NOT_UP = 3  # as `systemctl is-active` has it


def main(words: Sequence[str]) -> int:
    """Run one action; returns its exit code."""
    asked = _parse(words)
    request = Request(f"lab.{asked.action}", (), json=asked.json)
    view = app.view_of(request)
    try:
        with interrupt.once():
            standing, code, said = _ACTIONS[asked.action](asked, view.say)
    except RunbookError as error:
        return app.refuse(request, error)
    except (
        OSError,
        ProgramFailed,
    ) as error:  # of this machine: a directory nobody may write, an apt that fails
        return app.refuse(request, PreflightError(str(error)))
    except KeyboardInterrupt:
        return _interrupted(request, view.say)
    view.say(said)
    labtasks.tell(request, code, real=standing.to_json() if standing else None)
    return code


def _interrupted(request: Request, say: Callable[[str], None]) -> int:
    """Our own one line; nothing that was begun is left."""
    error = InterruptedByOperator("interrupted")
    if request.json:
        return app.refuse(request, error)
    say(str(error))
    return error.exit_code


def _parse(words: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="tests.system.real")
    parser.add_argument("action", choices=_ACTIONS)
    parser.add_argument("directory", type=Path)
    parser.add_argument("--reset", action="store_true")
    parser.add_argument("--json", action="store_true")
    return parser.parse_args(words)


def _up(asked: argparse.Namespace, say: Callable[[str], None]) -> tuple[Standing | None, int, str]:
    standing = switch.up(asked.directory, reset=asked.reset, say=say)
    return standing, 0, _told(standing)


def _down(asked: argparse.Namespace, say: Callable[[str], None]) -> tuple[Standing | None, int, str]:
    ended = switch.down(asked.directory)
    return None, 0, "the real host is down" if ended else "the real host was not up"


def _status(asked: argparse.Namespace, say: Callable[[str], None]) -> tuple[Standing | None, int, str]:
    standing = switch.status(asked.directory)
    return standing, 0 if standing else _NOT_UP, _told(standing) if standing else "the real host is not up"


_ACTIONS = {"up": _up, "down": _down, "status": _status}


def _told(standing: Standing) -> str:
    adopt = f"{shipped.command()} hosts.adopt --host adopted --address {ALIAS}"
    return (
        f"the real host is up: --host real, described in {standing.host_file}\n  {standing.ssh}\n"
        f"to adopt it yourself, put this into ~/.ssh/config, then `{adopt}`:\n{standing.alias}"
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
