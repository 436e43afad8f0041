from __future__ import annotations

import pytest

from runbook.verify import lastwords

AT = "2026-11-30T19:14:05+0000 gpu1"
STARTED = f"{AT} systemd[1]: Started decode.service - decode."
DIED = f"{AT} systemd[1]: decode.service: Main process exited, code=exited, status=2/INVALIDARGUMENT"
FAILED = f"{AT} systemd[1]: decode.service: Failed with result 'exit-code'."
AGAIN = f"{AT} systemd[1]: decode.service: Scheduled restart job, restart counter is at 1."


def said(pid: int, text: str) -> str:
    return f"{AT} serve_decode.sh[{pid}]: {text}"


USAGE = said(70, "usage: launch_server.py [-h] --model-path MODEL_PATH")
ERROR = said(70, "launch_server.py: error: unrecognized arguments: --no-such")
WORDS = "launch_server.py: error: unrecognized arguments: --no-such"


@pytest.mark.parametrize(
    ("lines", "want"),
    [
        ([STARTED, USAGE, ERROR, DIED, FAILED], WORDS),
        ([STARTED, USAGE, ERROR, said(70, "  "), DIED], WORDS),
        ([STARTED, USAGE, DIED, FAILED, ERROR], WORDS),  # journald takes it late
        ([STARTED, USAGE, ERROR, DIED, AGAIN, STARTED, said(71, "loading weights")], WORDS),
        ([STARTED, ERROR, DIED, AGAIN, STARTED, said(71, "out of memory"), DIED], "out of memory"),
        ([STARTED, said(70, "loading weights")], "loading weights"),
        ([STARTED, DIED, said(70, "it comes late")], "it comes late"),
        ([STARTED, DIED, FAILED], None),
        (["-- Boot 1234 --", "no line of a journal"], None),
        ([], None),
    ],
)
def test_the_last_line_of_the_process_that_died_last(lines: list[str], want: str | None) -> None:
    assert lastwords.of("\n".join(lines)) == want


def test_a_process_that_ends_in_a_flood_fills_no_screen() -> None:
    told = lastwords.of(said(70, "x" * 10_000))
    assert told is not None
    assert len(told) == lastwords.LONGEST


def test_what_it_says_has_no_power_over_the_terminal() -> None:
    assert "\x1b" not in (lastwords.of(said(70, "\x1b[2J boom")) or "")


def test_without_words_there_is_no_sentence() -> None:
    assert lastwords.sentence(DIED) == []
    assert lastwords.sentence(ERROR) == [f"its last words: {WORDS}"]
