from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

import pytest

from runbook.load.bench.options import add_arguments, settings_from, settings_of
from runbook.load.refusing import BadArgumentsError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from runbook.load.bench.settings import Settings


def settings(*options: str, environ: Mapping[str, str] | None = None) -> Settings:
    parser = argparse.ArgumentParser()
    add_arguments(parser)
    return settings_of(
        parser.parse_args(["--base-url", "http://h:1", "--model", "m", *options]), environ or {}
    )


def test_the_defaults_are_the_sweep() -> None:
    found = settings()
    assert found.workload.concurrencies == (1, 8, 32, 64, 80)
    assert (found.workload.input_tokens, found.workload.output_tokens, found.repeats) == (350, 256, 5)
    assert (found.workload.request_rate, found.budget_s, found.requests) == (None, 60.0, None)


@pytest.mark.parametrize(
    ("options", "levels"),
    [
        (["--concurrency", "1,8,8,32"], (1, 8, 32)),
        (["--max-concurrency", "16"], (16,)),
        (["--request-rate", "3"], (0,)),
        (["--request-rate", "3", "--max-concurrency", "16"], (16,)),
        (["--request-rate", "inf"], (1, 8, 32, 64, 80)),
    ],
)
def test_levels_come_from_concurrencies_or_from_a_rate(options: list[str], levels: tuple[int, ...]) -> None:
    assert settings(*options).workload.concurrencies == levels


@pytest.mark.parametrize(
    ("options", "named"),
    [
        (["--concurrency", "1,x"], "--concurrency"),
        (["--concurrency", "0"], "--concurrency"),
        (["--concurrency", "1", "--max-concurrency", "2"], "give one of them"),
        (["--request-rate", "0"], "--request-rate"),
        (["--repeats", "0"], "--repeats"),
        (["--num-prompts", "-1"], "--num-prompts"),
        (["--budget", "0"], "--budget"),
        (["--extra-body", "[1]"], "--extra-body"),
        (["--extra-body", "{"], "--extra-body"),
        (["--slo", "soon"], "--slo"),
        (["--api-key-env", "KEY"], "KEY is not set"),
        (["--base-url", "h:1"], "--base-url"),
        (["--base-url", "http://"], "--base-url"),
        (["--base-url", "http://h:port"], "--base-url"),
        (["--base-url", "ftp://h"], "--base-url"),
        (["--base-url", "http://h/a b"], "--base-url"),
        (["--metrics-url", "metrics"], "should be a URL or a path"),
        (["--server-url", "h:1"], "should be a URL or a path"),
        (["--duration", "nan"], "--duration"),
        (["--budget", "inf"], "--budget"),
        (["--concurrency", "10001"], "at most 10000"),
        (["--repeats", "1001"], "--repeats: should be at most 1000"),
        (["--tokenizer", "/nonexistent"], "--tokenizer"),
        (["--max-concurrency", "0"], "above 0"),
        (["--client-cpu", "nan"], "--client-cpu"),
        (["--client-lag", "inf"], "--client-lag"),
        (["--max-regression", "nan"], "--max-regression"),
        (["--max-regression", "1"], "--max-regression"),
        (["--slo", "ttft=nan"], "--slo"),
        (["--slo", "ttft=-1"], "--slo"),
        (["--accept", " "], "--accept"),
    ],
)
def test_what_makes_no_sense_is_named(options: list[str], named: str) -> None:
    with pytest.raises(BadArgumentsError, match=named):
        settings(*options)


def test_the_key_comes_from_the_named_variable() -> None:
    assert settings("--api-key-env", "KEY", environ={"KEY": "s3cret\n"}).api_key == "s3cret"


def test_a_key_that_would_break_the_request_is_refused_unshown() -> None:
    with pytest.raises(BadArgumentsError) as refused:
        settings("--api-key-env", "KEY", environ={"KEY": "s3c\r\nret"})
    assert "s3c" not in str(refused.value)


def test_the_body_asks_for_usage_and_a_fixed_length_and_takes_additions() -> None:
    body: dict[str, Any] = settings("--extra-body", '{"top_k": 1, "ignore_eos": false}').workload.body("hi")
    assert body["stream_options"] == {"include_usage": True}
    assert (body["max_tokens"], body["top_k"], body["ignore_eos"]) == (256, 1, False)


def test_the_settings_show_no_key() -> None:
    assert "s3cret" not in repr(settings("--api-key-env", "KEY", environ={"KEY": "s3cret"}))


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--repeats=many"], "--repeats: invalid int value: 'many'"),
        (["--base-url"], "--base-url: wants a value"),
        (["--base-url=http://h:1", "--model=m", "--sweep=1"], "unrecognized arguments: --sweep=1"),
        ([], "the following arguments are required: --base-url, --model"),
    ],
)
def test_words_that_do_not_parse_are_one_message(words: list[str], said: str) -> None:
    with pytest.raises(BadArgumentsError) as refused:
        settings_from(words, {})
    assert str(refused.value) == said
