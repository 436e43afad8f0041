from __future__ import annotations

import re

import pytest

from runbook import console, ending, lines
from runbook.events import Found, Progress, StepStarted
from runbook.stepline import Doing
from runbook.text import columns
from runbook.verdict import Finding, Outcome
from tests.showing_events import EVENTS, HOSTILE, PLAN, POWERS, document, terminal, text_of

# What Rich itself sends to draw over a line: cursor moves, erasing, hiding the cursor, bold and dim.
_DRAWING = re.compile(r"\x1b\[(?:\?25[lh]|[0-9;]*[mAK])|\r")


def shown(width: int, *, verbose: bool = False) -> str:
    """What stays on a terminal of this width after all events, less the drawing."""
    drawn = terminal(width)
    live = console.Live(drawn, verbose=verbose, clock=lambda: 65.0)
    for event in EVENTS:
        live(event)
    return _DRAWING.sub("", text_of(drawn))


@pytest.mark.parametrize("width", [120, 60])
def test_host_text_is_neither_markup_nor_an_escape_sequence(width: int) -> None:
    text = shown(width, verbose=True)
    assert "[red]x[/red]" in text
    assert ":smile:" in text
    assert POWERS.search(text) is None


def test_prose_is_folded_between_words_and_a_diff_is_left_alone() -> None:
    lines = shown(60).splitlines()
    diff = {f"+keep # {HOSTILE}".split("\x1b")[0], "-export A=0", "+export A=1"}
    assert {line.split("\ufffd")[0] for line in lines} >= diff
    prose = [line for line in lines if line.startswith(("✗", "·", "restart"))]
    assert prose
    assert all(columns(line) <= 60 for line in prose)


def test_what_passes_is_unsaid_a_warning_is_not_and_calls_are_told_with_verbose_only() -> None:
    text = shown(120)
    assert "passed quietly" not in text
    assert "! ledger.expired: warning: old" in text
    assert "> journal" not in text
    assert "> journal unit=decode.service  21 ms" in shown(120, verbose=True)
    assert "  $ journalctl " in shown(120, verbose=True)


def test_the_journal_stands_below_the_finding_it_belongs_to() -> None:
    text = shown(120)
    assert text.index("✗ unit: ") < text.index("    one ") < text.index("    two")


@pytest.mark.parametrize("width", [120, 60, 20])
def test_the_step_in_progress_fits_its_terminal(width: int) -> None:
    drawn = terminal(width)
    said = "34/80 sessions · maxrounds 30, foreign 4 · 512 chunks/s · slowest 12 s"
    frame = console.Frame(Doing("validate final80", 260.0), lambda: 12.0, plain=False)
    frame.say(Progress("validate final80", said, {"ended": 34, "sessions": 80, "corrupt": 4}))
    drawn.print(frame)
    lines = _DRAWING.sub("", text_of(drawn)).splitlines()
    assert len(lines) <= 3
    assert all(columns(line) <= width for line in lines)
    assert "0 s of 260 s" in lines[0]


def test_a_question_is_not_drawn_over() -> None:
    drawn = terminal(80)
    live = console.Live(drawn)
    live(StepStarted("connect gpu1"))
    live.hold()
    before = text_of(drawn)
    live(Progress("connect gpu1", "asking"))
    assert text_of(drawn) == before


def test_the_last_panel_says_all_of_it_within_the_width_and_keeps_the_command_whole() -> None:
    drawn = terminal(40)
    command = "    ./invoke rollback --host gpu1 --to 20261130T074037-c9ef"
    texts = ["deploy gpu1: FAIL (exit 1), rolled back to 20261130T074037-c9ef", "  x" * 30, command]
    console.closing(drawn, Outcome.FAIL, texts)
    lines = _DRAWING.sub("", text_of(drawn)).splitlines()
    assert command in lines
    assert all(columns(line) <= 40 for line in lines if "./invoke" not in line)
    assert "".join(lines).count("c9ef") == 2


def test_a_terminal_without_unicode_gets_words_for_marks() -> None:
    drawn = terminal(80, encoding="ascii")
    live = console.Live(drawn)
    for event in EVENTS:
        live(event)
    assert "FAIL health decode  65.0 s" in text_of(drawn)
    assert text_of(drawn).isascii()


def test_a_plan_is_coloured_by_its_lines() -> None:
    styles = {lines.style("plan", line) for line in lines.of("plan", PLAN)}
    assert styles >= {"red", "green", "bold", "cyan"}


def test_a_finished_deploy_has_a_panel_in_its_colour() -> None:
    drawn = terminal(60)
    console.closing(drawn, Outcome.PASS, ending.lines(document()))
    assert "deploy gpu1: PASS (exit 0)" in text_of(drawn)


@pytest.mark.parametrize("width", [60, 80, 100])
def test_the_end_of_a_journal_is_folded_between_its_words(width: int) -> None:
    drawn = terminal(width)
    said = "2026-11-30T19:14:05+0000 gpu1 serve.sh[70]: error: unrecognized arguments: " + "word " * 30
    console.Live(drawn)(Found(Finding("unit", Outcome.FAIL, "decode: unit failed", {"journal": said})))
    shown = text_of(drawn).splitlines()
    assert max(map(len, shown)) <= width
    assert " ".join(line.strip() for line in shown[1:]) == said.strip()
