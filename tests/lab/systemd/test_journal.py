from __future__ import annotations

import datetime
import os
from typing import TYPE_CHECKING

import pytest

from runbook.lab.systemd import journalctl, logger
from runbook.lab.systemd.answer import Answer
from runbook.lab.systemd.journal import Journal, Query, Record, parse_when, render

if TYPE_CHECKING:
    from pathlib import Path

NOW = datetime.datetime(2026, 11, 30, 12, 0, 0, tzinfo=datetime.UTC)
NOW_US = round(NOW.timestamp() * 1_000_000)


@pytest.fixture
def journal(tmp_path: Path) -> Journal:
    journal = Journal(tmp_path)
    for number, text in enumerate(["Started a.", "hello\tworld", "ünï｜", "boom"]):
        journal.append("a.service", Record(NOW_US + number * 1_000_000, "sh[7]", text))
    journal.append("b.service", Record(NOW_US + 500_000, "systemd[1]", "between"))
    return journal


def texts(journal: Journal, query: Query) -> list[str]:
    return [record.text for record in journal.read(query)]


@pytest.mark.parametrize(
    ("query", "want"),
    [
        (Query(("a.service",)), ["Started a.", "hello\tworld", "ünï｜", "boom"]),
        (Query(("a.service",), lines=2), ["ünï｜", "boom"]),
        (Query(("a.service",), lines=0), []),
        (Query(("a.service",), since_us=NOW_US + 2_000_000), ["ünï｜", "boom"]),
        (Query(("a.service",), until_us=NOW_US), ["Started a."]),
        (Query(("a.service",), grep="o+m$"), ["boom"]),
        (Query(("a.service", "b.service"), lines=4), ["between", "hello\tworld", "ünï｜", "boom"]),
        (Query(), ["Started a.", "between", "hello\tworld", "ünï｜", "boom"]),
        (Query(("absent.service",)), []),
        (Query(("../a.service",)), []),
    ],
)
def test_records_are_found(journal: Journal, query: Query, want: list[str]) -> None:
    assert texts(journal, query) == want


def test_a_journal_is_bounded_and_keeps_the_newest(tmp_path: Path) -> None:
    journal = Journal(tmp_path, limit_bytes=4000)
    for number in range(1000):
        journal.append("a.service", Record(number, "sh[7]", f"line {number}"))
    assert sum(path.stat().st_size for path in tmp_path.iterdir()) <= 4200
    kept = texts(journal, Query(("a.service",)))
    assert kept[-1] == "line 999"
    assert kept == [f"line {number}" for number in range(1000 - len(kept), 1000)]


def test_a_line_cannot_forge_another_and_is_cut_where_journald_cuts(tmp_path: Path) -> None:
    journal = Journal(tmp_path)
    journal.append("a.service", Record(1, "sh[7]", "one\n99\tsystemd[1]\tforged\r" + "x" * 100_000))
    (record,) = journal.read(Query(("a.service",)))
    assert record.text.startswith("one 99\tsystemd[1]\tforged ")
    assert len(record.text) == 48 * 1024


def test_damaged_lines_are_passed_over(tmp_path: Path) -> None:
    (tmp_path / "a.service.log").write_bytes(b"\xff\n\nx\ty\tz\n5\tsh[1]\t\xff fine\n7")
    assert texts(Journal(tmp_path), Query(("a.service",))) == ["\ufffd fine", ""]


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("@1796000000", 1796000000),
        ("@1796000000.5", 1796000000.5),
        ("now", NOW.timestamp()),
        ("today", NOW.timestamp() - 12 * 3600),
        ("-5min", NOW.timestamp() - 300),
        ("2026-11-30 11:59:30", NOW.timestamp() - 30),
        ("2026-11-30 11:59", NOW.timestamp() - 60),
        ("11:00", NOW.timestamp() - 3600),
        ("2026-11-30 11:00:00 UTC", NOW.timestamp() - 3600),
    ],
)
def test_times_as_journalctl_takes_them(text: str, seconds: float) -> None:
    assert parse_when(text, NOW) == round(seconds * 1_000_000)


@pytest.mark.parametrize("style", ["short", "short-iso", "short-precise", "short-iso-precise", "cat"])
def test_styles(style: str) -> None:
    when = NOW.astimezone()
    want = {
        "short": f"{when:%b %d %H:%M:%S} gpu1 sh[7]: boom",
        "short-iso": f"{when:%Y-%m-%dT%H:%M:%S%z} gpu1 sh[7]: boom",
        "short-precise": f"{when:%b %d %H:%M:%S}.000000 gpu1 sh[7]: boom",
        "short-iso-precise": f"{when:%Y-%m-%dT%H:%M:%S}.000000{when:%z} gpu1 sh[7]: boom",
        "cat": "boom",
    }
    assert render(Record(NOW_US, "sh[7]", "boom"), style, "gpu1") == want[style]


@pytest.mark.parametrize(
    ("argv", "out", "code"),
    [
        (["-u", "a", "-n", "1", "-o", "cat", "--no-pager"], "boom\n", 0),
        (["--unit=a.service", "--lines=2", "--output=cat"], "ünï｜\nboom\n", 0),
        (["-ua", "-n1", "-ocat", "-q"], "boom\n", 0),
        (["-u", "a", "--since", f"@{NOW_US // 1_000_000 + 3}", "-o", "cat"], "boom\n", 0),
        (["-u", "absent", "--no-pager"], "-- No entries --\n", 0),
        (["-u", "a", "--grep", "absent"], "-- No entries --\n", 1),
        (["-u", "b", "-n", "all", "-o", "cat"], "between\n", 0),
    ],
)
def test_journalctl_answers(journal: Journal, argv: list[str], out: str, code: int) -> None:
    said = journalctl.answer(journal, argv)
    assert (said.out, said.err, said.code) == (out, "", code)


def test_what_logger_says_is_found_by_its_tag(journal: Journal) -> None:
    assert logger.answer(journal, ["-t", "audit", "--", "-n", "of  old"]) == Answer()
    asked = ["--identifier=audit", f"_UID={os.getuid()}", "-o", "cat"]
    assert journalctl.answer(journal, asked) == Answer("-n of  old\n")
    assert journalctl.answer(journal, ["-t", "sh", "-n", "1", "-o", "cat"]) == Answer("boom\n")
    assert logger.answer(journal, ["--journald"]).code == 1


@pytest.mark.parametrize(
    ("argv", "err"),
    [
        (["-o", "nope"], "Unknown output format 'nope'."),
        (["-f"], "option -f not recognized"),
        (["-n", "many"], "invalid literal"),
        (["--since", "whenever"], "whenever"),
        (["--grep", "("], "missing )"),
        (["_PID=1"], "Failed to add match"),
        ([f"_UID={os.getuid() + 1}"], "Failed to add match"),
    ],
)
def test_journalctl_refuses_what_it_does_not_know(journal: Journal, argv: list[str], err: str) -> None:
    said = journalctl.answer(journal, argv)
    assert said.code == 1
    assert err in said.err
