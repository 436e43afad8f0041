"""The options of `repro`: their names, what contradicts itself, and the run's options as one value."""

from __future__ import annotations

import dataclasses
import json
import random
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from runbook.load.options import Options
from runbook.load.tokens import counter

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping


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


def options_of(args: argparse.Namespace) -> Options:
    """The options as one value. Raises BadArgumentsError, and NoTokenizerError."""
    _check(args)
    counter(args.tokenizer)
    named_alike = {field.name for field in dataclasses.fields(Options)} & vars(args).keys()
    converted = {
        "timeout_s": args.timeout,
        "soak_s": args.soak,
        "early_stop": not args.keep_going,
        "seed": random.SystemRandom().randrange(1 << 48) if args.seed is None else args.seed,
        "temperature": _temperature(args.temperature),
        "thinking": {"on": True, "off": False, "server": None}[args.thinking],
        "extra_body": _extra_body(args.extra_body),
    }
    return Options(**{**{name: getattr(args, name) for name in named_alike}, **converted})


def _check(args: argparse.Namespace) -> None:
    """Numbers that contradict themselves or each other."""
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
    _expect(_is_http(args.base_url), f"--base-url: no http URL: {args.base_url}")
    least = args.rows * 6
    _expect(
        args.max_tokens >= least,
        f"--max-tokens {args.max_tokens} cannot hold {args.rows} rows: {least} at least",
    )


def _is_http(text: str) -> bool:
    try:
        url = urlsplit(text)
        return url.scheme in ("http", "https") and bool(url.hostname) and url.port != 0
    except ValueError:  # of an unfinished IPv6 address, of a port that is none
        return False


def api_key(name: str | None, environ: Mapping[str, str]) -> str | None:
    if name is None:
        return None
    if not environ.get(name):
        raise BadArgumentsError(f"--api-key-env: the variable {name} is not set")
    return environ[name]


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


def _expect(holds: bool, message: str) -> None:
    if not holds:
        raise BadArgumentsError(message)
