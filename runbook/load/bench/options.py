"""The options of `bench`, named as sglang.bench_serving and `vllm bench serve` name theirs, and what they mean."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

from runbook.load.address import is_http
from runbook.load.bench.settings import Settings
from runbook.load.bench.slo import Slo
from runbook.load.bench.tokenizer import TokenizerFile
from runbook.load.bench.workload import UNCAPPED, Workload
from runbook.load.refusing import BadArgumentsError, api_key, expect, extra_body, may_write, parsed

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping, Sequence

_CONCURRENCY = "1,8,32,64,80"
_MOST = {"repeats": 1_000, "processes": 256, "random_input_len": 1_000_000, "random_output_len": 1_000_000}
_MOST_CONCURRENCY = 10_000
_POSITIVE = (
    "random_input_len", "random_output_len", "repeats", "num_prompts", "processes", "budget", "duration", "timeout",
    "client_cpu", "client_lag",
)  # fmt: skip

_OPTIONS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("--base-url", {"required": True, "help": "the endpoint, with or without /v1"}),
    ("--model", {"required": True, "help": "the served model's name"}),
    ("--concurrency", {"metavar": "N,N", "help": f"levels of the sweep (default {_CONCURRENCY})"}),
    ("--max-concurrency", {"type": int, "metavar": "N", "help": "one level; with --request-rate its limit"}),
    ("--request-rate", {"type": float, "default": math.inf, "metavar": "R", "help": "Poisson arrivals a second"}),
    ("--num-prompts", {"type": int, "metavar": "N", "help": "requests per level and repeat (default: by --budget)"}),
    ("--random-input-len", {"type": int, "default": 350, "metavar": "TOKENS"}),
    ("--random-output-len", {"type": int, "default": 256, "metavar": "TOKENS"}),
    ("--repeats", {"type": int, "default": 5, "metavar": "N", "help": "times every level is measured (default 5)"}),
    ("--budget", {"type": float, "default": 60.0, "metavar": "SECONDS", "help": "time for the whole sweep (default 60)"}),
    ("--duration", {"type": float, "metavar": "SECONDS", "help": "send for so long at every level and repeat"}),
    ("--seed", {"type": int, "default": 0, "help": "of filler words and arrivals; prompts never repeat between runs"}),
    ("--slo", {"default": "", "metavar": "ttft=MS,tpot=MS", "help": "limits for goodput"}),
    ("--extra-body", {"default": "{}", "metavar": "JSON", "help": "added to every request"}),
    ("--metrics-url", {"action": "append", "metavar": "URL", "help": "of a server that generates (default BASE/metrics)"}),
    ("--server-url", {"metavar": "URL", "help": "whose /server_info says what is measured (default BASE)"}),
    ("--tokenizer", {"metavar": "FILE", "help": "tokenizer.json that makes input lengths exact (default: an estimate)"}),
    ("--api-key-env", {"metavar": "NAME", "help": "variable that holds the API key"}),
    ("--timeout", {"type": float, "default": 600.0, "metavar": "SECONDS", "help": "for one request"}),
    ("--client-cpu", {"type": float, "default": 0.8, "metavar": "SHARE", "help": "of a core, above it the client is the limit"}),
    ("--client-lag", {"type": float, "default": 0.1, "metavar": "SHARE", "help": "of the median gap, likewise for the lag"}),
    ("--processes", {"type": int, "default": 1, "metavar": "N", "help": "client processes (default 1)"}),
    ("--output-file", {"type": Path, "metavar": "FILE", "help": "result and every request, as JSON lines"}),
    ("--against", {"type": Path, "metavar": "FILE", "help": "a result to compare with"}),
    ("--max-regression", {"type": float, "default": 0.10, "metavar": "SHARE", "help": "allowed loss against it (default 0.10)"}),
    ("--accept", {"metavar": "TEXT", "help": "declares a loss as known and lets it pass, up to the size it names (`… ≤ 8 %`)"}),
    ("--tell-requests", {"action": "store_true", "help": "with --jsonl: a line for every request before the result"}),
    ("--jsonl", {"action": "store_true", "help": "progress and result as JSON lines on stdout"}),
)  # fmt: skip


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of `bench`."""
    for name, how in _OPTIONS:
        parser.add_argument(name, **how)


def settings_from(words: Sequence[str], environ: Mapping[str, str]) -> Settings:
    """The settings of a command line that is not yet parsed, such as a task's. Raises BadArgumentsError."""
    return settings_of(parsed(words, add_arguments), environ)


def settings_of(args: argparse.Namespace, environ: Mapping[str, str]) -> Settings:
    """The settings a parsed command line means. Raises BadArgumentsError."""
    _check(args)
    rate = None if math.isinf(args.request_rate) else args.request_rate
    return Settings(
        base_url=args.base_url,
        workload=Workload(
            model=args.model,
            concurrencies=_levels(args.concurrency, args.max_concurrency, rate),
            input_tokens=args.random_input_len,
            output_tokens=args.random_output_len,
            request_rate=rate,
            extra_body=extra_body(args.extra_body),
        ),
        repeats=args.repeats,
        seed=args.seed,
        budget_s=args.budget,
        requests=args.num_prompts,
        duration_s=args.duration,
        slo=_slo(args.slo),
        api_key=api_key(args.api_key_env, environ),
        metrics_urls=tuple(args.metrics_url or ["/metrics"]),
        server_url=args.server_url or "",
        deadline_s=args.timeout,
        max_cpu=args.client_cpu,
        max_lag=args.client_lag,
        processes=args.processes,
        count_tokens=_tokenizer(args.tokenizer),
    )


def _check(args: argparse.Namespace) -> None:
    expect(
        is_http(args.base_url),
        f"--base-url: should be http://HOST[:PORT] or https://…, found {args.base_url!r}",
    )
    expect(args.request_rate > 0, f"--request-rate: should be above 0, found {args.request_rate}")
    for url in filter(None, [args.server_url, *(args.metrics_url or [])]):
        expect(
            is_http(url.partition("?")[0]) or url.startswith("/"), f"should be a URL or a path, found {url!r}"
        )
    for name in _POSITIVE:
        value = getattr(args, name)
        # Not `<= 0`: nan is above nothing. Nor does a bench without end make sense.
        good = value is None or 0 < value < math.inf
        expect(good, f"--{name.replace('_', '-')}: should be above 0, found {value}")
    expect(
        0 <= args.max_regression < 1,
        f"--max-regression: should be from 0 up to 1, found {args.max_regression}",
    )
    expect(
        args.output_file is None or may_write(args.output_file),
        f"--output-file: no file can be written at {args.output_file}",
    )
    expect(args.accept is None or bool(args.accept.strip()), "--accept: should say why, found nothing")
    for name, most in _MOST.items():
        value = getattr(args, name)
        expect(value <= most, f"--{name.replace('_', '-')}: should be at most {most}, found {value}")


def _levels(listed: str | None, cap: int | None, rate: float | None) -> tuple[int, ...]:
    expect(listed is None or cap is None, "--concurrency and --max-concurrency: give one of them")
    if listed is None and cap is None and rate is not None:
        return (UNCAPPED,)
    text = listed or (_CONCURRENCY if cap is None else str(cap))
    try:
        levels = tuple(dict.fromkeys(int(part) for part in text.split(",")))
    except ValueError:
        raise BadArgumentsError(
            f"--concurrency: should be whole numbers parted by commas, found {text!r}"
        ) from None
    good = min(levels) > 0 and max(levels) <= _MOST_CONCURRENCY
    expect(good, f"--concurrency: should be above 0 and at most {_MOST_CONCURRENCY}, found {text}")
    return levels


def _slo(text: str) -> Slo | None:
    try:
        return Slo.parse(text) if text else None
    except ValueError as error:
        raise BadArgumentsError(str(error)) from None


def _tokenizer(path: str | None) -> TokenizerFile | None:
    if path is None:
        return None
    found = TokenizerFile(path)
    found("one text, to see that it counts at all")
    return found
