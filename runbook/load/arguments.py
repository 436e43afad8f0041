"""The options of `repro`: their names, what contradicts itself, and the run's options as one value."""

from __future__ import annotations

import dataclasses
import math
import random
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from runbook.load.address import has_secret, is_http, without_secret
from runbook.load.control import AUTOMATIC, Control, parse_control
from runbook.load.options import MOST_VALUES, TOKENS_A_LINE, Options
from runbook.load.refusing import BadArgumentsError, api_key, expect, extra_body, may_write
from runbook.load.tokens import counter

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping


# Of OpenAI, vLLM and SGLang.
_MASKING = frozenset((
    "tool_choice", "function_call", "response_format", "guided_json", "guided_regex", "guided_choice",
    "guided_grammar", "structured_outputs", "regex", "ebnf", "json_schema", "structural_tag",
))  # fmt: skip
_OURS = frozenset(("model", "messages", "tools", "stream", "stream_options", "n"))

_OPTIONS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("--base-url", {"default": "http://127.0.0.1:30001", "help": "the endpoint, with or without /v1"}),
    ("--model", {"help": "the model's name; required unless --replay"}),
    ("--sessions", {"type": int, "default": 80, "help": "agent sessions at once"}),
    ("--rounds", {"type": int, "default": 3, "help": "rounds a session: fetch a record, store it"}),
    ("--ctx", {"type": int, "default": 350, "help": "filler in the prompt, in tokens"}),
    ("--tokenizer", {"metavar": "FILE", "help": "a tokenizer.json that counts the filler; without it, an estimate"}),
    ("--max-tokens", {"type": int, "default": 2000, "help": "limit of one response"}),
    ("--timeout", {"type": float, "default": 260.0, "metavar": "S", "help": "a session's deadline"}),
    ("--tag", {"default": "repro", "help": "the run's name"}),
    ("--rows", {"type": int, "default": 24, "help": "rows a record; more rows see more"}),
    ("--concurrency", {"type": int, "help": "at most so many sessions at once (default: all)"}),
    ("--thinking", {"choices": ("on", "off", "server"), "default": "server", "help": "ask the chat template for it"}),
    ("--temperature", {"default": "0", "help": "a number, or `server` for the server's default"}),
    ("--shared-prefix", {"type": float, "default": 0.0, "metavar": "SHARE", "help": "of the filler, for the prefix cache"}),
    ("--aborts", {"type": float, "default": 0.0, "metavar": "SHARE", "help": "of requests asked once more and hung up on"}),
    ("--waves", {"type": int, "default": 1, "help": "how often all sessions run, one wave after the other"}),
    ("--soak", {"type": float, "default": 0.0, "metavar": "S", "help": "further waves until so many seconds are over"}),
    ("--seed", {"type": int, "help": "of the nonces (default: a new one; it is in the result)"}),
    ("--extra-body", {"default": "{}", "metavar": "JSON", "help": "merged into every request"}),
    ("--api-key-env", {"metavar": "NAME", "help": "the variable that holds the API key"}),
    ("--control", {"metavar": "ARM", "help": "always run a control arm: concurrency=4 or url=http://…"}),
    ("--no-control", {"action": "store_true", "help": "never run one; without it more than one slip asks for it"}),
    ("--keep-going", {"action": "store_true", "help": "no early stop after two sessions with hard findings"}),
    ("--max-infra", {"type": int, "default": 0, "metavar": "N", "help": "sessions that may fail without an answer"}),
    ("--min-concurrency", {"type": float, "default": 0.5, "metavar": "SHARE",
                           "help": "of the sessions, must run at once, and not wait for this client"}),
    ("--streams", {"type": Path, "metavar": "FILE", "help": "raw streams of unclean sessions (default: a temporary file)"}),
    ("--max-client-cpu", {"type": float, "default": 0.8, "metavar": "SHARE", "help": "of a core; above it, inconclusive"}),
    ("--processes", {"type": int, "default": 0, "metavar": "N", "help": "of this client (default: as many as it takes)"}),
    ("--metrics-url", {"metavar": "URL", "help": "the server's /metrics, where the endpoint itself has none"}),
    ("--replay", {"type": Path, "metavar": "FILE", "help": "judge such a file again, ask nobody"}),
    ("--jsonl", {"action": "store_true", "help": "one JSON object a line instead of text"}),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Asked:
    """A corruption run as asked for: its options, the key, its control arms, the file for raw streams."""

    options: Options
    api_key: str | None
    control: Control | None
    automatic: Control | None
    streams: Path | None


def asked_of(args: argparse.Namespace, environ: Mapping[str, str]) -> Asked:
    """What the command line asks for. Raises BadArgumentsError."""
    return Asked(
        options=options_of(args),
        api_key=api_key(args.api_key_env, environ),
        control=parse_control(args.control) if args.control else None,
        automatic=None if args.no_control else parse_control(AUTOMATIC),
        streams=args.streams,
    )


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of `repro`, by the names the original script had and the further ones."""
    for name, how in _OPTIONS:
        parser.add_argument(name, **how)


def options_of(args: argparse.Namespace) -> Options:
    """The options as one value. Raises BadArgumentsError."""
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
    """What contradicts itself or the rest, before anybody is asked anything."""
    _check_numbers(args)
    expect(bool(args.model), "--model is required")
    expect(is_http(args.base_url), f"--base-url: no http URL: {without_secret(args.base_url)}")
    expect(
        not has_secret(args.base_url),
        "--base-url: a URL with a password is shown and kept: --api-key-env",
    )
    expect(not (args.control and args.no_control), "--control and --no-control contradict each other")
    if args.streams is not None:
        writable = may_write(args.streams) and not args.streams.is_fifo()
        expect(writable, f"--streams: no file can be written at {args.streams}")


def _check_numbers(args: argparse.Namespace) -> None:
    for name in ("sessions", "rounds", "rows", "max_tokens", "timeout", "waves"):
        expect(
            getattr(args, name) > 0,
            f"--{name.replace('_', '-')} should be above 0, found {getattr(args, name)}",
        )
    for name in ("shared_prefix", "aborts", "min_concurrency"):
        share = getattr(args, name)
        expect(0.0 <= share <= 1.0, f"--{name.replace('_', '-')} should be from 0 to 1, found {share}")
    cpu = args.max_client_cpu  # nan is above nothing, and nothing above it
    expect(0.0 < cpu < math.inf, f"--max-client-cpu should be above 0 and finite, found {cpu}")
    values = args.sessions * args.waves * (args.rounds * args.rows + args.ctx // TOKENS_A_LINE)
    expect(
        values <= MOST_VALUES, f"the scripts would hold {values} values, at most {MOST_VALUES} are written"
    )
    for name in ("ctx", "soak", "max_infra", "processes"):
        expect(
            getattr(args, name) >= 0,
            f"--{name.replace('_', '-')} should not be below 0, found {getattr(args, name)}",
        )
    expect(math.isfinite(args.timeout + args.soak), "--timeout and --soak should be finite")
    at_once = args.sessions if args.concurrency is None else args.concurrency
    expect(
        0 < at_once <= args.sessions, f"--concurrency should be from 1 to {args.sessions}, found {at_once}"
    )
    least = args.rows * 6
    expect(
        args.max_tokens >= least,
        f"--max-tokens {args.max_tokens} cannot hold {args.rows} rows: {least} at least",
    )


def _temperature(text: str) -> float | None:
    if text == "server":
        return None
    try:
        temperature = float(text)
    except ValueError:
        temperature = math.nan
    expect(0.0 <= temperature < math.inf, f"--temperature should be a number or `server`, found {text!r}")
    return temperature


def _extra_body(text: str) -> dict[str, Any]:
    document = extra_body(text)
    if masking := sorted(_MASKING & document.keys()):
        raise BadArgumentsError(f"--extra-body: {masking[0]} constrains decoding, and that masks corruption")
    if ours := sorted(_OURS & document.keys()):
        raise BadArgumentsError(f"--extra-body: {ours[0]} is what the sessions are made of")
    return document
