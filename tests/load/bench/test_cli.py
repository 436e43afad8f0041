"""`bench` as it is called: what it prints and its exit codes."""

from __future__ import annotations

import argparse
import asyncio
import json
import threading
from typing import TYPE_CHECKING, Any

import pytest

from runbook.load.bench import BenchResult
from runbook.load.bench.cli import add_arguments, run
from tests.load.bench.made import a_tokenizer
from tests.load.bench.standin import Entry, Script, StandIn, failing, quick

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.real

INFO = json.dumps({"version": "0.5.23", "tp_size": 8, "port": 1})
# The client's own verdict depends on what else runs on the machine; these tests are about the rest.
SMALL = [
    *("--random-input-len", "30", "--random-output-len", "8", "--concurrency", "1,4", "--repeats", "2"),
    *("--num-prompts", "4", "--client-lag", "1e6", "--client-cpu", "1e6"),
]


@pytest.fixture
def server() -> Iterator[str]:
    """A stand-in in a thread of its own, that wants the key `k`."""
    with serving(StandIn(quick, extra={"/server_info": INFO}, key="k")) as url:
        yield url


class serving:
    """A stand-in served by a loop in another thread."""

    def __init__(self, stand_in: StandIn) -> None:
        self._stand_in = stand_in
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever)
        self._context = stand_in.serving()

    def __enter__(self) -> str:
        self._thread.start()
        return asyncio.run_coroutine_threadsafe(self._context.__aenter__(), self._loop).result(10)

    def __exit__(self, *exc: object) -> None:
        asyncio.run_coroutine_threadsafe(self._context.__aexit__(None, None, None), self._loop).result(10)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


def bench(url: str, *options: str, model: str = "m") -> int:
    parser = argparse.ArgumentParser()
    add_arguments(parser)
    return run(parser.parse_args(["--base-url", url, "--model", model, *options]))


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KEY", "k")


def events(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.splitlines()]


def test_json_lines_carry_progress_and_one_result(server: str, capsys: pytest.CaptureFixture[str]) -> None:
    code = bench(server, *SMALL, "--api-key-env", "KEY", "--jsonl")
    found = events(capsys.readouterr().out)
    assert code == 0
    assert {event["event"] for event in found[:-1]} == {"progress"}
    assert all({"text", "fields"} <= event.keys() for event in found[:-1])
    document = found[-1]["result"]
    assert (document["schema"], document["kind"], document["outcome"]) == (1, "bench", "pass")
    assert [level["concurrency"] for level in document["levels"]] == [1, 4]
    assert [len(level["output_tok_s"]) for level in document["levels"]] == [2, 2]
    assert document["fingerprint"]["server"] == {"version": "0.5.23", "arguments": {"tp_size": 8}, "gpu": {}}
    assert BenchResult.from_json(document).levels[0].requests == 8


def test_the_duration_is_printed_before_the_load(server: str, capsys: pytest.CaptureFixture[str]) -> None:
    bench(server, *SMALL, "--api-key-env", "KEY", "--jsonl")
    texts = [event.get("text", "") for event in events(capsys.readouterr().out)]
    assert texts[0] == "2 concurrencies, 2 repeats each: 4 requests each, how long is known after the warm-up"
    plan = next(at for at, text in enumerate(texts) if "interleaved" in text)
    assert "about" in texts[plan]
    assert not any("repeat 1 of" in text for text in texts[:plan])


def test_text_shows_a_table_and_the_file_every_request(
    server: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = tmp_path / "out.jsonl"
    code = bench(server, *SMALL, "--api-key-env", "KEY", "--slo", "ttft=5000", "--output-file", str(path))
    lines = path.read_text().splitlines()
    result = BenchResult.from_json(json.loads(lines[0]))
    assert code == 0
    assert "tok/s" in capsys.readouterr().out.splitlines()[0]
    assert len(lines) == 1 + sum(level.requests for level in result.levels)
    assert {"concurrency", "repeat", "intended", "arrivals", "failure"} <= json.loads(lines[1]).keys()
    assert [level.concurrency for level in result.levels] == [1, 4]
    assert min(result.levels[0].goodput) > 0


def test_a_full_disk_takes_the_file_and_leaves_the_result(
    server: str, capsys: pytest.CaptureFixture[str]
) -> None:
    code = bench(server, *SMALL, "--api-key-env", "KEY", "--jsonl", "--output-file", "/dev/full")
    out, err = capsys.readouterr()
    assert events(out)[-1]["result"]["outcome"] == "pass"
    assert (code, err) == (2, "--output-file /dev/full: No space left on device\n")


def test_a_run_is_compared_with_a_saved_one(
    server: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = tmp_path / "out.jsonl"
    bench(server, *SMALL, "--api-key-env", "KEY", "--output-file", str(path))
    capsys.readouterr()
    code = bench(
        server, *SMALL, "--api-key-env", "KEY", "--against", str(path), "--max-regression", "0.99", "--jsonl"
    )
    document = events(capsys.readouterr().out)[-1]["result"]
    assert [row["concurrency"] for row in document["comparison"]["rows"]] == [1, 4]
    assert code in (0, 3)


def test_another_workload_is_refused(server: str, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "out.jsonl"
    bench(server, *SMALL, "--api-key-env", "KEY", "--output-file", str(path))
    code = bench(server, *SMALL, "--api-key-env", "KEY", "--against", str(path), model="other")
    assert code == 2
    assert "model: baseline 'm', now 'other'" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "code", "said"),
    [
        (["--concurrency", "many"], 2, "--concurrency"),
        ([], 2, "HTTP 401"),
        (["--against", "/nonexistent"], 2, "--against"),
        (["--output-file", "/nonexistent/out"], 2, "--output-file: no file can be written"),
    ],
)
def test_one_line_says_what_is_wrong_before_any_load(
    server: str, capsys: pytest.CaptureFixture[str], options: list[str], code: int, said: str
) -> None:
    assert bench(server, *options) == code
    captured = capsys.readouterr()
    assert said in captured.err
    assert captured.err.count("\n") == 1
    assert captured.out == ""


def test_a_model_that_is_not_served_is_a_usage_error(capsys: pytest.CaptureFixture[str]) -> None:
    def other(index: int, request: Any) -> Any:
        return Script((), 0, status=404)

    with serving(StandIn(other)) as url:
        assert bench(url, model="misspelt") == 2
    assert "asked for --model misspelt" in capsys.readouterr().err


def test_a_model_that_the_list_does_not_hold_is_a_usage_error(capsys: pytest.CaptureFixture[str]) -> None:
    models = json.dumps({"data": [{"id": "deepseek-v4-flash"}]})
    with serving(StandIn(quick, extra={"/v1/models": models})) as url:
        assert bench(url, model="misspelt") == 2
    assert "serves deepseek-v4-flash; asked for --model misspelt" in capsys.readouterr().err


def test_a_refused_model_is_told_beside_those_there_are(capsys: pytest.CaptureFixture[str]) -> None:
    def other(index: int, request: Any) -> Any:
        return Script((), 0, status=404)

    models = json.dumps({"data": [{"id": "deepseek-v4-flash"}]})
    with serving(StandIn(other, extra={"/v1/models": models})) as url:
        assert bench(url, model="misspelt") == 2
        assert "serves deepseek-v4-flash; asked for --model misspelt" in capsys.readouterr().err
        assert bench(f"{url}/v2") == 2
        assert f"{url}/v2/v1/chat/completions: HTTP 404" in capsys.readouterr().err


def test_nobody_there_is_inconclusive_and_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert bench("http://127.0.0.1:9") == 3
    assert capsys.readouterr().err.count("\n") == 1


def test_a_rate_is_benched_without_a_limit(server: str, capsys: pytest.CaptureFixture[str]) -> None:
    code = bench(
        server, *SMALL[:4], *SMALL[10:], *("--request-rate", "40", "--duration", "0.4", "--repeats", "2"),
        "--api-key-env", "KEY", "--jsonl",
    )  # fmt: skip
    found = events(capsys.readouterr().out)
    level = found[-1]["result"]["levels"][0]
    assert code == 0
    assert found[1]["text"] == "warm-up at no limit"
    assert level["concurrency"] == 0
    assert level["steady"][1] - level["steady"][0] > 0.1
    assert level["requests"] > 5


def test_several_processes_share_the_load(server: str, capsys: pytest.CaptureFixture[str]) -> None:
    code = bench(server, *SMALL, "--api-key-env", "KEY", "--processes", "2", "--jsonl")
    levels = events(capsys.readouterr().out)[-1]["result"]["levels"]
    assert code == 0
    assert [level["requests"] for level in levels] == [8, 8]
    assert levels[1]["peak_concurrency"] == 4


def test_a_server_that_fails_its_requests_fails_the_bench(capsys: pytest.CaptureFixture[str]) -> None:
    with serving(StandIn(failing)) as url:
        assert bench(url, *SMALL) == 1
    assert "requests failed" in capsys.readouterr().out


def test_a_server_that_knows_no_ignore_eos_is_asked_without_it(capsys: pytest.CaptureFixture[str]) -> None:
    def strict(index: int, request: Any) -> Script:
        return Script((), 0, status=400) if "ignore_eos" in request else quick(index, request)

    with serving(StandIn(strict)) as url:
        code = bench(url, *SMALL, "--jsonl")
    found = events(capsys.readouterr().out)
    assert code == 0
    assert "this server takes no ignore_eos, outputs may end early" in found[0]["text"]
    assert found[-1]["result"]["fingerprint"]["ignore_eos"] is False


def test_a_worker_behind_a_router_says_what_is_measured(capsys: pytest.CaptureFixture[str]) -> None:
    worker = StandIn(quick, extra={"/server_info": json.dumps({"version": "9", "tp_size": 4})})
    with serving(StandIn(quick)) as router, serving(worker) as url:
        assert bench(router, *SMALL, "--server-url", url, "--jsonl") == 0
    result = events(capsys.readouterr().out)[-1]["result"]
    assert result["fingerprint"]["server"] == {"version": "9", "arguments": {"tp_size": 4}, "gpu": {}}


@pytest.mark.parametrize("processes", ["1", "2"])
def test_a_tokenizer_is_used_and_named_in_the_result(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path, processes: str
) -> None:
    path = a_tokenizer(monkeypatch, tmp_path)
    with serving(StandIn(quick)) as url:
        assert bench(url, *SMALL, "--tokenizer", path, "--processes", processes, "--jsonl") == 0
    result = events(capsys.readouterr().out)[-1]["result"]
    assert result["input_counted_by"] == "tokenizer"
    assert [level["tokens"]["prompt"] / level["requests"] for level in result["levels"]] == [30, 30]


def test_requests_of_somebody_else_make_a_bench_inconclusive(capsys: pytest.CaptureFixture[str]) -> None:
    def metrics(log: list[Entry]) -> str:
        return f"sglang:generation_tokens_total {3 * sum(entry.tokens for entry in log)}\n"

    with serving(StandIn(quick, extra={"/metrics": metrics})) as url:
        assert bench(url, *SMALL) == 3
    assert "concurrency 1: foreign requests: the server generated" in capsys.readouterr().out


def test_requests_are_told_as_lines_before_the_result(
    server: str, capsys: pytest.CaptureFixture[str]
) -> None:
    bench(server, *SMALL, "--api-key-env", "KEY", "--jsonl", "--tell-requests")
    found = events(capsys.readouterr().out)
    told = [event["request"] for event in found if event["event"] == "request"]
    assert len(told) == sum(level["requests"] for level in found[-1]["result"]["levels"]) == 16
    assert {"concurrency", "repeat", "intended", "arrivals", "failure"} <= told[0].keys()
