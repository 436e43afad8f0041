"""The command line: what it refuses, what it prints, how it exits."""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import sys
from typing import TYPE_CHECKING

import pytest

from runbook.load.__main__ import main
from runbook.load.arguments import add_arguments, options_of
from runbook.load.cli import result_text
from runbook.load.summary import result_of
from tests.faultserver.server import Behaviour, FaultServer
from tests.load.records import GOOD_CONDITIONS, records
from tests.load.test_control import OPTIONS

if TYPE_CHECKING:
    from pathlib import Path


ORIGINAL = "--sessions 60 --rounds 4 --ctx 300 --max-tokens 2500 --timeout 240 --tag final60"


def parsed(*arguments: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    add_arguments(parser)
    return parser.parse_args(["--model", "m", *arguments])


def test_the_originals_names_are_understood() -> None:
    options = options_of(parsed(*ORIGINAL.split()))
    assert (options.sessions, options.rounds, options.ctx, options.max_tokens) == (60, 4, 300, 2500)
    assert (options.timeout_s, options.tag, options.at_once) == (240.0, "final60", 60)
    assert options.temperature == 0.0


def test_seeds_are_new_unless_given() -> None:
    assert options_of(parsed()).seed != options_of(parsed()).seed
    assert options_of(parsed("--seed", "5")).seed == 5


def test_the_servers_own_defaults_are_left_alone_on_request() -> None:
    options = options_of(parsed("--temperature", "server", "--thinking", "off"))
    assert (options.temperature, options.thinking) == (None, False)
    assert "temperature" not in options.body([], [])


REFUSED = {
    "no sessions": ("--sessions 0", "--sessions should be above 0, found 0"),
    "no rounds": ("--rounds -1", "--rounds should be above 0, found -1"),
    "a share above one": ("--aborts 1.5", "--aborts should be from 0 to 1, found 1.5"),
    "negative filler": ("--ctx -5", "--ctx should not be below 0"),
    "too few tokens for the rows": ("--rows 100 --max-tokens 200", "--max-tokens 200 cannot hold 100 rows"),
    "a core without end": (
        "--max-client-cpu nan",
        "--max-client-cpu should be above 0 and finite, found nan",
    ),
    "a million sessions": ("--sessions 1000000 --concurrency 1", "the scripts would hold 93000000 values"),
    "a constrained decoding": ('--extra-body {"guided_regex":"a"}', "guided_regex constrains decoding"),
    "answers in several": ('--extra-body {"n":2}', "n is what the sessions are made of"),
    "a deep body": ("--extra-body " + "[" * 100_000, "--extra-body is no JSON"),
    "no URL": ("--base-url gpu1:30001", "--base-url: no http URL"),
    "no host": ("--base-url http://", "--base-url: no http URL"),
    "half an address": ("--base-url http://[x", "--base-url: no http URL"),
    "no such port": ("--base-url http://192.0.2.1:99999", "--base-url: no http URL"),
    "a tokenizer without a file": ("--tokenizer " + "x" * 300, "File name too long"),
    "a name too long to write": ("--streams " + "x" * 300, "--streams: no file can be written"),
    "no JSON": ("--extra-body {", "--extra-body is no JSON"),
    "JSON that is no object": ("--extra-body []", "--extra-body should be a JSON object"),
    "constrained decoding": ('--extra-body {"tool_choice":"required"}', "constrains decoding"),
    "an unknown arm": ("--control four", "should be concurrency=N"),
    "a key that is not set": ("--api-key-env RUNBOOK_NO_SUCH_KEY", "RUNBOOK_NO_SUCH_KEY is not set"),
    "a hot temperature": ("--temperature warm", "--temperature should be a number"),
}


@pytest.mark.parametrize("name", sorted(REFUSED))
def test_what_makes_no_sense_is_one_line_and_exit_2(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    arguments, message = REFUSED[name]
    assert main(["repro", "--model", "m", *arguments.split()]) == 2
    out, err = capsys.readouterr()
    assert message in err
    assert err.count("\n") == 1
    assert out == ""


def test_a_model_is_required(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["repro"]) == 2
    assert capsys.readouterr().err == "--model is required\n"


def test_a_missing_replay_file_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["repro", "--replay", str(tmp_path / "none")]) == 2
    assert "none" in capsys.readouterr().err


def test_unknown_commands_and_options_are_usage_errors(capsys: pytest.CaptureFixture[str]) -> None:
    for arguments in (["nonsense"], ["repro", "--nonsense"], []):
        with pytest.raises(SystemExit) as left:
            main(arguments)
        assert left.value.code == 2
    assert "usage" in capsys.readouterr().err


def test_people_get_the_two_lines_and_every_number() -> None:
    text = result_text(result_of(OPTIONS, records(maxrounds=78, leak=2), GOOD_CONDITIONS, "/tmp/s.gz"))
    assert text[:2] == ['wall=10.0s counts={"maxrounds": 78, "leak": 2}', "CORRUPTION sessions: 2/80 = 2.5%"]
    assert text[2].startswith("fail: corruption: 2 of 80 judged sessions corrupt (leak 2); at most")
    assert text[-2:] == ["raw streams: /tmp/s.gz", "outcome: fail"]


async def command(server: FaultServer, *arguments: str) -> tuple[int, str]:
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "runbook.load", "repro", "--base-url", server.url, "--model", "m", *arguments,
        stdout=asyncio.subprocess.PIPE,
    )  # fmt: skip
    out, _ = await process.communicate()
    return process.returncode or 0, out.decode()


SMALL = (
    "--sessions",
    "3",
    "--rounds",
    "1",
    "--rows",
    "4",
    "--ctx",
    "10",
    "--min-concurrency",
    "0",
    "--max-client-cpu",
    "9",
)


@pytest.mark.real
@pytest.mark.parametrize(
    ("behaviour", "exit_code", "outcome"),
    [
        (Behaviour(), 0, "pass"),
        (Behaviour(cut_after=100), 1, "fail"),
        (Behaviour(status=500), 3, "inconclusive"),
    ],
)
def test_the_command_exits_as_the_outcome_says(
    behaviour: Behaviour, exit_code: int, outcome: str, tmp_path: Path
) -> None:
    async def body() -> tuple[int, str]:
        async with FaultServer(lambda request: behaviour).serving() as server:
            return await command(server, *SMALL, "--jsonl", "--streams", str(tmp_path / "s.gz"))

    code, out = asyncio.run(body())
    last = json.loads(out.splitlines()[-1])
    assert code == exit_code
    assert (last["event"], last["result"]["outcome"]) == ("result", outcome)


@pytest.mark.real
def test_a_full_disk_takes_the_evidence_and_leaves_the_verdict() -> None:
    async def body() -> tuple[int, str]:
        async with FaultServer(lambda request: Behaviour(cut_after=100)).serving() as server:
            return await command(server, *SMALL, "--streams", "/dev/full")

    code, out = asyncio.run(body())
    assert code == 1
    assert (
        "streams: raw streams of unclean sessions could not be kept: /dev/full: No space left on device"
        in out
    )


def test_a_pipe_is_neither_written_to_nor_replayed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    assert main(["repro", "--replay", str(pipe)]) == 2
    assert main(["repro", "--model", "m", "--streams", str(pipe)]) == 2
    assert capsys.readouterr().err.count(str(pipe)) == 2


@pytest.mark.real
def test_a_defect_of_ours_is_no_verdict() -> None:
    code = "import sys; from runbook.load.__main__ import defect_exit; sys.excepthook = defect_exit; raise KeyError('x')"

    async def body() -> tuple[int | None, bytes]:
        pipe = asyncio.subprocess.PIPE
        process = await asyncio.create_subprocess_exec(sys.executable, "-c", code, stderr=pipe)
        _, err = await process.communicate()
        return process.returncode, err

    exit_code, err = asyncio.run(body())
    assert exit_code == 70
    assert b"KeyError: 'x'" in err


@pytest.mark.real
def test_a_replayed_file_is_judged_again(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "s.gz"

    async def body() -> None:
        async with FaultServer(lambda request: Behaviour(cut_after=100)).serving() as server:
            await command(server, *SMALL, "--streams", str(path))

    asyncio.run(body())
    assert main(["repro", "--replay", str(path)]) == 1
    assert '"truncated"' in capsys.readouterr().out
