"""`python -m runbook.load repro`: the corruption validation with the original script's option names.

Exit 0 pass, 1 fail, 2 the command line or the endpoint's answer makes no sense, 3 inconclusive or nobody answers.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from runbook.load.control import AUTOMATIC, parse_control
from runbook.load.options import Options
from runbook.load.outcome import Outcome
from runbook.load.preflight import PreflightFailed
from runbook.load.replay import replay
from runbook.load.run import run_validation
from runbook.load.tokens import counter
from runbook.load.verdict import counts, evidence

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping
    from typing import TextIO

    from runbook.load.progress import Say
    from runbook.load.results import SessionsResult

__all__ = ["add_arguments", "run"]

_EXIT = {Outcome.PASS: 0, Outcome.FAIL: 1, Outcome.ERROR: 2, Outcome.INCONCLUSIVE: 3}


class BadArgumentsError(ValueError):
    """The command line contradicts itself; one line."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of `repro`, by the names the original script had and the further ones."""
    option = parser.add_argument
    option("--base-url", default="http://127.0.0.1:30001", help="the endpoint, with or without /v1")
    option("--model", help="the model's name; required unless --replay")
    option("--sessions", type=int, default=80, help="agent sessions at once")
    option("--rounds", type=int, default=3, help="rounds a session: fetch a record, store it")
    option("--ctx", type=int, default=350, help="filler in the prompt, in tokens")
    option(
        "--tokenizer", metavar="FILE", help="a tokenizer.json that counts the filler; without it, an estimate"
    )
    option("--max-tokens", type=int, default=2000, help="limit of one response")
    option("--timeout", type=float, default=260.0, metavar="S", help="a session's deadline")
    option("--tag", default="repro", help="the run's name")
    option("--rows", type=int, default=24, help="rows a record; more rows see more")
    option("--concurrency", type=int, help="at most so many sessions at once (default: all)")
    option(
        "--thinking", choices=("on", "off", "server"), default="server", help="ask the chat template for it"
    )
    option("--temperature", default="0", help="a number, or `server` for the server's default")
    option(
        "--shared-prefix",
        type=float,
        default=0.0,
        metavar="SHARE",
        help="of the filler, for the prefix cache",
    )
    option(
        "--aborts",
        type=float,
        default=0.0,
        metavar="SHARE",
        help="of requests asked once more and hung up on",
    )
    option("--waves", type=int, default=1, help="how often all sessions run, one wave after the other")
    option(
        "--soak", type=float, default=0.0, metavar="S", help="further waves until so many seconds are over"
    )
    option("--seed", type=int, help="of the nonces (default: a new one; it is in the result)")
    option("--extra-body", default="{}", metavar="JSON", help="merged into every request")
    option("--api-key-env", metavar="NAME", help="the variable that holds the API key")
    option("--control", metavar="ARM", help="always run a control arm: concurrency=4 or url=http://…")
    option(
        "--no-control", action="store_true", help="never run one; without it more than one slip asks for it"
    )
    option("--keep-going", action="store_true", help="no early stop after two sessions with hard findings")
    option("--max-infra", type=int, default=0, metavar="N", help="sessions that may fail without an answer")
    option(
        "--min-concurrency",
        type=float,
        default=0.5,
        metavar="SHARE",
        help="of the sessions, must run at once",
    )
    option(
        "--streams",
        type=Path,
        metavar="FILE",
        help="raw streams of unclean sessions (default: a temporary file)",
    )
    option(
        "--max-client-cpu", type=float, default=0.8, metavar="SHARE", help="of a core; above it, inconclusive"
    )
    option("--metrics-url", metavar="URL", help="the server's /metrics, where the endpoint itself has none")
    option("--replay", type=Path, metavar="FILE", help="judge such a file again, ask nobody")
    option("--jsonl", action="store_true", help="one JSON object a line instead of text")


def run(args: argparse.Namespace) -> int:
    """Run as asked; returns the exit code."""
    try:
        if args.replay:
            return _replay(args.replay)
        options = options_of(args)
        controls = {
            "control": parse_control(args.control) if args.control else None,
            "automatic": None if args.no_control else parse_control(AUTOMATIC),
        }
        key = _api_key(args.api_key_env, os.environ)
        say = teller(sys.stdout if args.jsonl else sys.stderr, jsonl=args.jsonl)
        result = asyncio.run(run_validation(options, api_key=key, streams=args.streams, say=say, **controls))
    except PreflightFailed as refused:
        return _refuse(str(refused), refused.exit_code)
    except (ValueError, OSError) as error:
        return _refuse(str(error), 2)
    except KeyboardInterrupt:
        return _refuse("interrupted, nothing is concluded", 3)
    _show(result, jsonl=args.jsonl)
    return _EXIT[result.outcome]


def options_of(args: argparse.Namespace) -> Options:
    """The options as one value. Raises BadArgumentsError."""
    for name in ("sessions", "rounds", "rows", "max_tokens", "timeout", "waves"):
        _expect(
            getattr(args, name) > 0,
            f"--{name.replace('_', '-')} should be above 0, found {getattr(args, name)}",
        )
    for name in ("shared_prefix", "aborts", "min_concurrency"):
        share = getattr(args, name)
        _expect(0.0 <= share <= 1.0, f"--{name.replace('_', '-')} should be from 0 to 1, found {share}")
    _expect(args.ctx >= 0, f"--ctx should not be below 0, found {args.ctx}")
    _expect(bool(args.model), "--model is required")
    _expect(args.concurrency is None or args.concurrency > 0, "--concurrency should be above 0")
    _expect(args.base_url.startswith(("http://", "https://")), f"--base-url: no http URL: {args.base_url}")
    counter(args.tokenizer)
    least = args.rows * 6
    _expect(
        args.max_tokens >= least,
        f"--max-tokens {args.max_tokens} cannot hold {args.rows} rows: {least} at least",
    )
    return Options(
        base_url=args.base_url,
        model=args.model,
        sessions=args.sessions,
        rounds=args.rounds,
        ctx=args.ctx,
        max_tokens=args.max_tokens,
        timeout_s=args.timeout,
        tag=args.tag,
        seed=random.SystemRandom().randrange(1 << 48) if args.seed is None else args.seed,
        rows=args.rows,
        concurrency=args.concurrency,
        temperature=_temperature(args.temperature),
        thinking={"on": True, "off": False, "server": None}[args.thinking],
        shared_prefix=args.shared_prefix,
        aborts=args.aborts,
        waves=args.waves,
        soak_s=args.soak,
        early_stop=not args.keep_going,
        max_infra=args.max_infra,
        min_concurrency=args.min_concurrency,
        tokenizer=args.tokenizer,
        max_client_cpu=args.max_client_cpu,
        metrics_url=args.metrics_url,
        extra_body=_extra_body(args.extra_body),
    )


def teller(out: TextIO, *, jsonl: bool) -> Say:
    """Progress as lines of text, or as JSON lines; flushed one by one."""

    def say(text: str, /, **fields: Any) -> None:
        line = json.dumps({"event": "progress", "text": text, "fields": fields}) if jsonl else text
        _write(out, line)

    return say


def result_text(result: SessionsResult) -> list[str]:
    """The original's two lines, then every finding with its numbers."""
    found = [f"{finding.outcome}: {finding.check}: {finding.message}" for finding in result.findings]
    kept = [f"raw streams: {result.streams}"] if result.streams else []
    return [*result.lines, *found, *kept, f"outcome: {result.outcome}"]


def _show(result: SessionsResult, *, jsonl: bool) -> None:
    lines = [json.dumps({"event": "result", "result": result.to_json()})] if jsonl else result_text(result)
    _write(sys.stdout, *lines)


def _replay(path: Path) -> int:
    """Exit 1 where a kept session is corrupt by today's rules, else 0."""
    _, records = replay(path)
    _write(sys.stdout, *(json.dumps(evidence(record)) for record in records))
    _write(sys.stdout, f"{len(records)} kept sessions: {json.dumps(counts(records))}")
    return 1 if any(record.corrupt for record in records) else 0


def _temperature(text: str) -> float | None:
    if text == "server":
        return None
    try:
        return float(text)
    except ValueError:
        raise BadArgumentsError(f"--temperature should be a number or `server`, found {text!r}") from None


def _extra_body(text: str) -> dict[str, Any]:
    try:
        document = json.loads(text)
    except ValueError as error:
        raise BadArgumentsError(f"--extra-body is no JSON: {error}") from None
    if not isinstance(document, dict):
        raise BadArgumentsError("--extra-body should be a JSON object")
    masking = sorted({"tool_choice", "response_format", "guided_json"} & document.keys())
    if masking:
        raise BadArgumentsError(f"--extra-body: {masking[0]} constrains decoding, and that masks corruption")
    return document


def _api_key(name: str | None, environ: Mapping[str, str]) -> str | None:
    if name is None:
        return None
    if not environ.get(name):
        raise BadArgumentsError(f"--api-key-env: the variable {name} is not set")
    return environ[name]


def _expect(holds: bool, message: str) -> None:
    if not holds:
        raise BadArgumentsError(message)


def _refuse(message: str, code: int) -> int:
    _write(sys.stderr, message)
    return code


def _write(out: TextIO, *lines: str) -> None:
    out.writelines(f"{line}\n" for line in lines)
    out.flush()
