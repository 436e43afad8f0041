"""`bench --url` through the task's own door: documents, lines, files, exit codes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from runbook import command_line
from runbook.benches import FOLDER
from tests import jsonschemas
from tests.load.bench.made import level, result
from tests.load.bench.standin import Script, StandIn, quick
from tests.load.bench.test_cli import serving

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.real

# The client's own verdict depends on what else runs on the machine; these tests are about the rest.
LENIENT = ["client-lag=1e6", "client-cpu=1e6"]
SMALL = {
    "model": "m", "concurrency": "1,4", "repeats": "3", "num_prompts": "4", "random_input_len": "30", "random_output_len": "8",
    "option": LENIENT,
}  # fmt: skip


@pytest.fixture(autouse=True)
def _in_its_own_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def url() -> Iterator[str]:
    with serving(StandIn(quick, extra={"/server_info": '{"version": "1"}'})) as found:
        yield found


def bench(**given: Any) -> int:
    return command_line.run("bench", **(SMALL | given))


def document(capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    """The one JSON document on stdout."""
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def test_a_url_is_benched_and_told_in_one_document(url: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert bench(url=url, json=True) == 0
    found = document(capsys)
    assert (found["action"], found["host"], found["outcome"], found["audit"]) == ("bench", url, "pass", None)
    assert [one["concurrency"] for one in found["bench"]["result"]["levels"]] == [1, 4]
    assert found["bench"]["comparison"] is None
    assert jsonschemas.problems(found) == []


def test_lines_tell_how_long_before_the_table(url: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert bench(url=url) == 0
    out = capsys.readouterr().out
    assert (
        out.index("3 repeats, interleaved; a repeat is") < out.index("conc  tok") < out.index("bench http://")
    )
    assert "PASS (exit 0)" in out


def test_a_kept_result_is_compared_with_by_its_name(url: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert bench(url=url, save="first", json=True) == 0
    kept = document(capsys)["saved"]
    assert Path(kept) == Path.cwd() / FOLDER / "first.json"
    code = bench(url=url, against="first", max_regression="0.99", json=True)
    found = document(capsys)
    assert (code, found["against"]) == (0, "first")
    assert [row["verdict"] for row in found["bench"]["comparison"]["rows"]] == ["no regression"] * 2
    assert found["bench"]["baseline"]["kind"] == "bench"


def test_a_file_with_every_request_is_written_and_compared_with(
    url: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert bench(url=url, output_file="out.jsonl") == 0
    requests = [json.loads(line) for line in Path("out.jsonl").read_text().splitlines()[1:]]
    assert len(requests) == 24
    assert {"concurrency", "repeat", "intended", "arrivals", "failure"} <= requests[0].keys()
    assert bench(url=url, against="out.jsonl", max_regression="0.99") == 0
    assert "no regression beyond" in capsys.readouterr().out


def test_another_workload_is_refused_before_any_load_and_another_server_after_it(
    url: str, capsys: pytest.CaptureFixture[str]
) -> None:
    bench(url=url, save="first")
    capsys.readouterr()
    assert bench(url=url, against="first", random_output_len="9", json=True) == 2
    assert (
        document(capsys)["error"]
        == "--against first: it measured something else: output_tokens: baseline 8, now 9"
    )
    with serving(StandIn(quick, extra={"/server_info": '{"version": "2"}'})) as other:
        assert bench(url=other, against="first", save="second", json=True) == 2
    found = document(capsys)
    assert found["error"].endswith("server.version: baseline '1', now '2'")
    assert found["bench"]["result"]["outcome"] == "pass"
    assert Path(found["saved"]).exists()


def test_a_regression_exits_1(url: str) -> None:
    fast = result(level(1, *[9e6] * 3), level(4, *[9e6] * 3)).to_json()
    fast["fingerprint"] |= {"input_tokens": 30, "output_tokens": 8, "server": {}}
    Path("fast.json").write_text(json.dumps(fast))
    assert bench(url=url, against="fast.json") == 1
    assert bench(url=url, against="fast.json", accept="a toy is slower") == 0


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"model": ""}, "the following arguments are required: --model"),
        ({"url": "h:1"}, "--url: should be http"),
        ({"concurrency": "many"}, "--concurrency: should be whole numbers"),
        ({"repeats": "x"}, "--repeats: invalid int value"),
        ({"slo": "soon"}, "--slo"),
        ({"option": ["sweep=1"]}, "unrecognized arguments: --sweep=1"),
        ({"option": ["jsonl"]}, "--option jsonl means nothing here"),
        ({"option": ["base_url=x"]}, "--option base-url means nothing here"),
        ({"option": ["client-lag=1", "client_lag=2"]}, "each name once"),
        ({"option": ["against=x"]}, "--option against means nothing here"),
        ({"option": ["=1"]}, "--option wants NAME=VALUE"),
        ({"against": "nothing"}, "--against nothing: there is no such file"),
        ({"save": "../x"}, "--save '../x': should be a name"),
        ({"output_file": "/nonexistent/x"}, "--output-file: no file can be written"),
        ({"max_regression": "2"}, "--max-regression"),
        ({"api_key_env": "NO_SUCH_KEY"}, "NO_SUCH_KEY is not set here"),
        ({"host": ["gpu1"]}, "--host and --url contradict each other"),
        ({"url": "http://me:secret@h:1"}, "--url: should be without a login"),
        ({"url": ""}, "--model goes with --url"),
        ({"url": "", "model": "", "host": ["a", "b"], "save": "x"}, "one --host"),
    ],
)
def test_what_makes_no_sense_is_one_message_and_exit_2(
    url: str, capsys: pytest.CaptureFixture[str], given: dict[str, Any], said: str
) -> None:
    assert bench(**({"url": url, "json": True} | given)) == 2
    error = document(capsys)["error"]
    assert said in error
    assert "\n" not in error
    assert "secret" not in error


def test_nobody_there_exits_7_and_a_model_that_is_not_served_2(capsys: pytest.CaptureFixture[str]) -> None:
    assert bench(url="http://127.0.0.1:9", json=True) == 7
    assert document(capsys)["error"] == "http://127.0.0.1:9: cannot be reached: Connection refused"
    with serving(StandIn(lambda index, request: Script((), 0, status=404))) as url:
        assert bench(url=url, json=True) == 2
    assert "asked for --model m" in document(capsys)["error"]


def test_a_name_that_is_taken_is_refused_before_any_load(capsys: pytest.CaptureFixture[str]) -> None:
    (Path.cwd() / FOLDER).mkdir(parents=True)
    (Path.cwd() / FOLDER / "first.json").write_text("{}")
    assert bench(url="http://127.0.0.1:9", save="first", json=True) == 2
    assert "is there already" in document(capsys)["error"]


def test_a_dry_run_loads_nobody(capsys: pytest.CaptureFixture[str]) -> None:
    assert bench(url="http://127.0.0.1:9", dry=True, num_prompts="", budget="30") == 0
    said = "would bench http://127.0.0.1:9 from here: 2 concurrencies, 3 repeats each: about 30 s with the warm-up"
    assert said in capsys.readouterr().out


def test_a_client_at_its_limit_says_once_what_mends_it_and_takes_the_option_as_a_host_file_spells_it(
    url: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert bench(url=url, save="first", option=["client_lag=1e6", "client_cpu=1e6"]) == 0
    capsys.readouterr()
    assert bench(url=url, against="first", option=["client-lag=1e-6", "client_cpu=1e6"]) == 3
    live, _, last = capsys.readouterr().out.partition(f"bench {url}: INCONCLUSIVE")
    for told in (live, last):
        assert told.count("concurrency 1: client-bound") == 1
        assert told.count("client-bound") == told.count("or allow more: --option client-lag=SHARE") == 2
