"""`validate --url` and `validate --replay` through the task's own door: documents, lines, exit codes."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from runbook import command_line, endpoint
from runbook.errors import UsageError
from runbook.load.streams import KEPT_FILES
from runbook.request import Request
from tests.faultserver.server import Behaviour, FaultServer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

SIZES = {"model": "m", "sessions": "3", "rounds": "1", "ctx": "10", "timeout": "20"}
# The server shares this process, and three sessions are over at once.
LENIENT = ["rows=4", "min-concurrency=0", "max-client-cpu=9"]


@pytest.fixture(autouse=True)
def _in_its_own_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@contextlib.contextmanager
def served(server: FaultServer) -> Iterator[str]:
    """The server's URL; it runs in a loop of its own, since the task starts one too."""
    up, stop = threading.Event(), threading.Event()

    async def serve() -> None:
        async with server.serving():
            up.set()
            while not stop.is_set():
                await asyncio.sleep(0.02)

    thread = threading.Thread(target=asyncio.run, args=(serve(),))
    thread.start()
    try:
        assert up.wait(10)
        yield server.url
    finally:
        stop.set()
        thread.join(10)


def validate(**given: Any) -> int:
    return command_line.run("validate", **given)


def document(capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    """The one JSON document on stdout."""
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


@pytest.mark.real
@pytest.mark.parametrize(
    ("behaviour", "exit_code", "outcome"),
    [
        (Behaviour(), 0, "pass"),
        (Behaviour(cut_after=300), 1, "fail"),
        (Behaviour(status=500), 3, "inconclusive"),
        (Behaviour(status=429), 3, "inconclusive"),
    ],
)
def test_a_url_is_validated_without_any_host(
    behaviour: Behaviour, exit_code: int, outcome: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with served(FaultServer(lambda request: behaviour)) as url:
        assert validate(url=url, option=LENIENT, json=True, **SIZES) == exit_code
    told = document(capsys)
    assert (told["action"], told["host"], told["exit_code"]) == ("validate", url, exit_code)
    assert (told["outcome"], told["validations"][0]["outcome"]) == (outcome, outcome)
    assert sum(told["validations"][0]["counts"].values()) == 3


@pytest.mark.real
def test_people_get_the_two_lines_of_the_original_and_the_bound(capsys: pytest.CaptureFixture[str]) -> None:
    with served(FaultServer()) as url:
        assert validate(url=url, tag="mine", option=LENIENT, **SIZES) == 0
    out = capsys.readouterr().out
    assert 's counts={"maxrounds": 3}\n' in out
    assert "CORRUPTION sessions: 0/3 = 0%\n" in out
    assert "63.16%" in out


@pytest.mark.real
def test_streams_are_kept_for_their_owner_and_judged_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with served(FaultServer(lambda request: Behaviour(cut_after=300))) as url:
        validate(url=url, option=LENIENT, json=True, **SIZES)
    kept = document(capsys)["validations"][0]["streams"]
    assert kept.startswith(str(tmp_path / ".runbook" / "streams"))
    assert (tmp_path / ".runbook" / "streams").stat().st_mode & 0o077 == 0
    assert validate(replay=kept, json=True) == 1
    told = document(capsys)
    assert {one["end"] for one in told["replay"]["sessions"]} == {"truncated"}
    assert told["replay"]["run"]["model"] == "m"
    assert validate(replay=kept) == 1
    assert "hard truncated, turn 1, round 1, byte -1" in capsys.readouterr().out


@pytest.mark.real
def test_streams_of_the_last_runs_stay_and_files_of_other_names(tmp_path: Path) -> None:
    folder = tmp_path / ".runbook" / "streams"
    folder.mkdir(parents=True, mode=0o700)
    (folder / "the-one-to-show.jsonl.gz").touch()
    for number in range(KEPT_FILES + 10):
        (folder / f"20260101T0000{number:02}-beef.jsonl.gz").touch()
    with served(FaultServer(lambda request: Behaviour(cut_after=300))) as url:
        validate(url=url, option=LENIENT, json=True, **SIZES)
    assert len(list(folder.iterdir())) == KEPT_FILES + 2
    assert (folder / "the-one-to-show.jsonl.gz").exists()


@pytest.mark.real
def test_what_was_never_answered_is_no_pass_when_it_is_judged_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "mine.gz"
    with served(FaultServer(lambda request: Behaviour(status=500))) as url:
        validate(url=url, option=LENIENT, streams=str(path), json=True, **SIZES)
    assert document(capsys)["validations"][0]["streams"] == str(path)
    assert validate(replay=str(path), json=True) == 3


REFUSED_BY_THE_SERVER: dict[str, tuple[dict[str, Any], dict[str, str], int, str]] = {
    "another model": ({}, {"model": "x"}, 2, "no model 'x'; /v1/models offers m"),
    "no key": ({"key": "secret"}, {}, 2, "HTTP 401"),
    "no chat": ({"chat_status": 404}, {}, 2, "HTTP 404 to a chat"),
    "busy": ({"chat_status": 503}, {}, 3, "HTTP 503 to a chat before any load"),
    "no control arm": (
        {},
        {"control": "url=http://127.0.0.1:9"},
        7,
        "http://127.0.0.1:9: cannot be reached: Connection refused",
    ),
}


@pytest.mark.real
@pytest.mark.parametrize("name", sorted(REFUSED_BY_THE_SERVER))
def test_a_server_that_cannot_be_asked_is_one_line_before_any_load(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    server, changes, exit_code, message = REFUSED_BY_THE_SERVER[name]
    standing = FaultServer(**server)
    with served(standing) as url:
        assert validate(url=url, option=LENIENT, json=True, **{**SIZES, **changes}) == exit_code
    told = document(capsys)
    assert message in told["error"]
    assert "\n" not in told["error"]
    assert (standing.requests, told["validations"]) == (0, [])


REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "no model": ({"url": "http://192.0.2.1"}, "--model is required"),
    "no number": ({"sessions": "ten"}, "--sessions"),
    "no sessions": ({"sessions": "0"}, "--sessions should be above 0"),
    "half a session": ({"sessions": "2.5"}, "--sessions"),
    "more at once than there are": ({"option": ["concurrency=9"], "sessions": "3"}, "--concurrency"),
    "too few tokens": ({"max_tokens": "10"}, "--max-tokens 10 cannot hold 24 rows"),
    "no end": ({"timeout": "inf"}, "finite"),
    "no time": ({"timeout": "nan"}, "--timeout"),
    "no URL": ({"url": "gpu1:30001"}, "--url: no http URL"),
    "a URL of files": ({"url": "file:///etc/passwd"}, "no http URL"),
    "a blank in the URL": ({"url": "http://192.0.2.1/a b"}, "no http URL"),
    "a query": ({"url": "http://192.0.2.1/?key=x"}, "no http URL"),
    "a host of no letters": ({"url": "http://g\u00fc.example.net"}, "no http URL"),
    "an unknown option": ({"option": ["sessoins=3"]}, "--sessoins"),
    "half an option": ({"option": ["sess=3"]}, "--sess"),
    "an option of ours": ({"option": ["replay=x"]}, "--option replay means nothing here"),
    "a key that is not set": ({"api_key_env": "RUNBOOK_NO_SUCH_KEY"}, "RUNBOOK_NO_SUCH_KEY is not set"),
    "a folder that is not there": ({"streams": "none/x.gz"}, "--streams"),
    "two wishes": ({"control": "concurrency=4", "option": ["no-control"]}, "contradict each other"),
    "an option twice": ({"tag": "a", "option": ["tag=b"]}, "each name once"),
    "a host and a URL": ({"host": ["gpu1"]}, "--host and --url contradict each other"),
    "a URL and a file": ({"replay": "x"}, "--url and --replay contradict each other"),
    "a name and a URL": ({"name": ["final80"]}, "--name is of a host's validations"),
    "a password in the URL": ({"url": "http://me:hunter2@192.0.2.1"}, "--api-key-env"),
    "a password in no URL": ({"url": "ftp://me:hunter2@192.0.2.1"}, "no http URL: ftp://***@192.0.2.1"),
    "a password in the arm": ({"control": "url=http://me:x@192.0.2.1"}, "should be concurrency=N"),
    "constrained decoding": ({"option": ['extra-body={"tool_choice":"required"}']}, "masks corruption"),
}


@pytest.mark.parametrize("name", sorted(REFUSED))
def test_a_command_line_that_makes_no_sense_is_one_line_and_exit_2(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    changes, message = REFUSED[name]
    given = {"url": "http://192.0.2.1", **({} if name == "no model" else {"model": "m"}), **changes}
    assert validate(**given, json=True) == 2
    told = document(capsys)
    assert message in told["error"]
    assert "\n" not in told["error"]
    assert "hunter2" not in json.dumps(told)


@pytest.mark.parametrize("sized", [{"sessions": "20"}, {"option": ["rows=3"]}, {"model": "m"}])
def test_a_hosts_validations_have_their_sizes_in_its_file(
    sized: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    assert validate(host=["gpu1"], json=True, **sized) == 2
    assert "goes with --url" in document(capsys)["error"]


@pytest.mark.parametrize("content", [None, b"", b"nothing of ours", b"\x1f\x8b damaged"])
def test_a_file_that_is_none_of_ours_cannot_be_replayed(
    content: bytes | None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "kept.gz"
    if content is not None:
        path.write_bytes(content)
    assert validate(replay=str(path), json=True) == 2
    assert str(path) in document(capsys)["error"]


def test_a_key_is_read_from_the_environment_and_never_from_the_command_line() -> None:
    options = {"model": "m", "api-key-env": "KEY"}
    assert endpoint.read("http://192.0.2.1", options, {"KEY": "secret"}).api_key == "secret"
    with pytest.raises(UsageError, match="KEY is not set"):
        endpoint.read("http://192.0.2.1", options, {})


def test_the_request_of_a_url_keeps_every_size() -> None:
    asked = command_line.request(
        "validate", url="http://192.0.2.1", max_tokens="9", option=["keep-going", "rows=2"]
    )
    assert asked.load_options == {"max-tokens": "9", "keep-going": "true", "rows": "2"}
    assert Request("validate").load_options == {}


def program(*arguments: str) -> tuple[int, str]:
    """The task as the command line runs it: exit code and stdout, without a terminal and with stdin closed."""
    root = str(Path(command_line.__file__).parent.parent)
    done = subprocess.run(
        [sys.executable, "-m", "runbook.program", "--search-root", root, "validate", *arguments],
        env={**os.environ, "PYTHONPATH": root},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    return done.returncode, done.stdout


@pytest.mark.real
def test_the_program_replays_a_file_and_exits_as_it_says(tmp_path: Path) -> None:
    path = tmp_path / "kept.gz"
    with served(FaultServer(lambda request: Behaviour(cut_after=300))) as url:
        arguments = [f"--{name}={value}" for name, value in SIZES.items()]
        options = [f"--option={option}" for option in LENIENT]
        exit_code, out = program("--url", url, f"--streams={path}", "--json", *arguments, *options)
    assert (exit_code, json.loads(out)["outcome"]) == (1, "fail")
    exit_code, out = program("--replay", str(path))
    assert exit_code == 1
    assert "hard truncated" in out


@pytest.mark.real
def test_the_program_refuses_with_one_document_and_exit_2() -> None:
    exit_code, out = program("--url", "http://192.0.2.1", "--json")
    assert (exit_code, json.loads(out)["error"]) == (2, "--model is required")
    assert program("--replay")[0] == 2


@pytest.mark.real
@pytest.mark.parametrize("processes", ["1", "2"])
def test_ctrl_c_ends_a_run_at_once_with_130_and_leaves_nobody_behind(processes: str) -> None:
    root = str(Path(command_line.__file__).parent.parent)
    argv = [sys.executable, "-m", "runbook.program", "--search-root", root, "validate", "--json"]
    slow = FaultServer(lambda request: Behaviour(pieces=1000, pause_s=0.1))
    with served(slow) as url:
        sizes = [f"--{name}={value}" for name, value in SIZES.items()]
        command = [*argv, "--url", url, *sizes, f"--option=processes={processes}"]
        env = {**os.environ, "PYTHONPATH": root}
        running = subprocess.Popen(
            command,
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        wait_until(lambda: slow.requests >= int(SIZES["sessions"]))
        os.killpg(running.pid, signal.SIGINT)
        out, _ = running.communicate(timeout=20)
    assert (running.returncode, json.loads(out)["exit_code"]) == (130, 130)
    wait_until(lambda: not group_exists(running.pid))


def group_exists(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True


def wait_until(holds: Callable[[], bool]) -> None:
    """Asks until it holds, for half a minute at most."""
    for _ in range(600):
        if holds():
            return
        time.sleep(0.05)
    raise AssertionError("it never held")
