"""Validations and the bench: each file measures in one half and judges in the other; found by its file name."""

from __future__ import annotations

import contextlib
import json
import shlex
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from runbook import kinds
from runbook.bundle import load_argv, send_load
from runbook.errors import LoadRefusedError, MeasureError, RunbookError
from runbook.model import Command
from runbook.text import figure, no_figure
from runbook.verdict import Outcome

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from types import ModuleType

    from runbook.model import Host, Validation
    from runbook.ssh import Wire

# How long one poll may rest on the host. Short, since Ctrl-C is looked at between polls.
POLL_S = 1.0
STOP_GRACE_S = 5.0
STDERR_LINES = 10
STDERR_CHARACTERS = 16_384
LINE_CHARACTERS = 10_000  # of a kept line; a job may print a megabyte on one
# How the load generator exits when it would not begin, and when nobody answered it.
REFUSED, UNANSWERED = 2, 3


def of(spec: Validation) -> ModuleType:
    """The module that measures a validation: `measure(jobs, spec, say) -> document`.

    The host file's `run` is `command`; its `kind` names any other.
    """
    kind = "command" if isinstance(spec, Command) else spec.kind
    return kinds.named("validations", kind, "measure")


def unjudged(name: str, wall_s: float, lines: Sequence[str]) -> dict[str, Any]:
    """A validation's result document that holds no data yet, so it is inconclusive (docs/architecture.md, sessions result)."""
    return {
        "schema": 1, "kind": "sessions", "name": name, "outcome": Outcome.INCONCLUSIVE.value, "sessions": 0, "rounds": None,
        "counts": {}, "corrupt": 0, "infra": 0, "upper_95": None, "wall_s": wall_s, "peak_concurrency": None,
        "tokens_per_s": None, "lines": list(lines), "findings": [], "waves": [], "streams": None,
    }  # fmt: skip


@dataclass(frozen=True, slots=True)
class Ended:
    """How a job on the host ended: its exit status, its lines on stdout, the end of its stderr."""

    exit: int
    lines: tuple[str, ...]
    stderr: str


@dataclass(frozen=True, slots=True)
class Jobs:
    """Runs load on the host: `wire` must be of mode running or above; `checkpoint` raises when the operator stops us."""

    wire: Wire
    host: Host
    checkpoint: Callable[[], None]
    api_key: str | None = None

    def run(self, argv: Sequence[str], on_line: Callable[[str], None], *, keep: int = 200) -> Ended:
        """Run `argv` to its end, telling each line of its stdout; keeps the beginnings of the last `keep` of them.

        However this ends, nothing of the job is left running: an exception here stops it on the host.
        """
        env = {"RUNBOOK_API_KEY": self.api_key} if self.api_key else {}
        job = self.wire.call("job_start", argv=list(argv), env=env, cwd=None, stdin=None)["job"]
        lines: list[str] = []
        stderr = ""
        try:
            while True:
                self.checkpoint()
                answer = self.wire.call("job_poll", job=job, wait_s=POLL_S)
                for line in answer["lines"]:
                    on_line(line)
                told = (line[:LINE_CHARACTERS] for line in answer["lines"])
                lines = [*lines, *told][-keep:] if keep else []
                stderr = (stderr + answer["stderr"])[-STDERR_CHARACTERS:]
                if answer["exit"] is not None:
                    return Ended(answer["exit"], tuple(lines), stderr)
        except BaseException:
            # A link that is gone cannot be told to stop the job; the helper on the host stops it when the link ends.
            with contextlib.suppress(RunbookError):
                self.wire.call("job_stop", job=job, grace_s=STOP_GRACE_S, deadline_s=2 * STOP_GRACE_S)
            raise

    def load(
        self,
        args: Sequence[str],
        say: Callable[[str, Mapping[str, Any]], None],
        on_request: Callable[[Mapping[str, Any]], None] = lambda request: None,
    ) -> dict[str, Any]:
        """Run `runbook.load` on the host with `args`; the result document it printed.

        Raises MeasureError without one, LoadRefusedError where it would not even begin.
        """
        directory = send_load(self.wire, self.host.state)
        key = ["--api-key-env", "RUNBOOK_API_KEY"] if self.api_key else []
        results: list[dict[str, Any]] = []
        ended = self.run(
            load_argv(self.host.python, directory, [*args, "--jsonl", *key]),
            lambda line: _take(line, say, on_request, results),
            keep=0,
        )
        if not results:
            raise _without_result(args, ended)
        return results[-1]


def _without_result(args: Sequence[str], ended: Ended) -> MeasureError:
    """Why there is no result: the one line in which the load generator refuses, else all it said last."""
    said = ended.stderr.splitlines()[-STDERR_LINES:]
    if len(said) == 1 and ended.exit in (REFUSED, UNANSWERED):
        return LoadRefusedError(said[0]) if ended.exit == REFUSED else MeasureError(said[0])
    last = "\n".join(said) or "(it printed nothing)"
    return MeasureError(
        f"the load generator gave no result: {shlex.join(args)} ended with exit {ended.exit}\n{last}"
    )


def _take(
    line: str,
    say: Callable[[str, Mapping[str, Any]], None],
    on_request: Callable[[Mapping[str, Any]], None],
    results: list[dict[str, Any]],
) -> None:
    """One line of the load generator: progress and requests are told, a result is kept, anything else is noise."""
    try:
        event = json.loads(line, parse_constant=no_figure, parse_float=figure)
        kind = event["event"]
    except (ValueError, LookupError, TypeError, RecursionError):
        return
    if kind == "progress":
        say(str(event.get("text", "")), event.get("fields") or {})
    elif kind == "request" and isinstance(event.get("request"), dict):
        on_request(event["request"])
    elif kind == "result" and isinstance(event.get("result"), dict):
        results.append(event["result"])


def options(values: Mapping[str, Any]) -> list[str]:
    """`{"max-tokens": 8, "thinking": "true"}` as command-line options; `true` stands for a bare switch."""
    args: list[str] = []
    for name, value in values.items():
        text = str(value)
        args += [f"--{name}"] if text == "true" else [f"--{name}", text]
    return args


def shell(run: str, timeout_s: float) -> list[str]:
    """What runs a command of a host file as it stands there, for at most `timeout_s` seconds."""
    return ["timeout", "--signal=TERM", "--kill-after=5", f"{timeout_s:.0f}", "/bin/sh", "-c", run]


def endpoint_url(host: Host) -> str:
    """The base URL users' chats go to, as seen on the host."""
    endpoint = host.endpoint
    if endpoint is None or endpoint.url is None:
        raise MeasureError(f"{host.name}: no unit has a url")
    return endpoint.url
