from __future__ import annotations

from typing import Any

import pytest

from runbook import screens
from runbook.unsaid import GONE

UNIT: dict[str, Any] = {
    "role": "decode", "unit": "decode.service", "state": "active/running", "up": True, "down": False,
    "says": "active/running, MainPID 100", "pid": 100, "since": 1000.0, "restarts": 0,
    "evidence": "environ", "evidence_says": "",
}  # fmt: skip
DOWN = UNIT | {
    "state": "inactive/dead",
    "up": False,
    "down": True,
    "says": "unit is inactive/dead (success)",
    "pid": 0,
}
FLAG: dict[str, Any] = {
    "flag": "A", "unit": "decode", "wanted": "1", "file": "0", "running": "0", "evidence": "environ", "outcome": "fail",
}  # fmt: skip
UNKNOWN = FLAG | {"file": "1", "running": None, "evidence": "unknown", "outcome": "inconclusive"}
LEFT = {"action": "deploy", "rollout": "x", "who": "ann@laptop", "since": "07:00", "steps": []}
CURRENT = {"id": "r2", "verdict": "proven", "created": "", "age": "3 d", "rollout": "x"}
LAST = {
    "id": "x", "action": "deploy", "outcome": "pass", "ended": "1970-01-01T00:16:40+00:00", "who": "ann@laptop",
    "reason": "the race", "exit_code": 0, "seq": 7, "ended_as": "pass", "rolled_back_to": None, "going_back_to": None,
}  # fmt: skip
EXPIRING = {"flag": "A", "since": None, "expires": "2026-12-01", "days": 3, "owner": "kernels"}
LOCK = {"who": "ann@laptop", "since": "07:00", "step": "bench"}  # fmt: skip


def shown(**fields: Any) -> dict[str, Any]:
    whole = {
        "now": 8200.0, "units": [UNIT], "flags": [{**FLAG, "outcome": "pass"}], "unapplied": [], "left_behind": {},
        "edited": [], "kept_by": {}, "gone": [], "missing": [], "unreadable": None,
        "current": CURRENT, "last": LAST, "expiring": [], "inflight": None, "lock": None,
    }  # fmt: skip
    return whole | fields


def test_a_host_that_is_well_fits_on_five_lines() -> None:
    assert screens.status(shown()) == [
        "unit    state           since  pid  restarts  environment",
        "decode  active/running  2 h    100  0         environ",
        "flags 1 of 1 as the host file says",
        "release r2 (proven, 3 d old)",
        "last rollout x: deploy PASS 2 h ago by ann@laptop: the race",
    ]


@pytest.mark.parametrize(
    ("fields", "line"),
    [
        ({"flags": [FLAG]}, "!! A on decode: wanted '1', file '0', running '0'"),
        ({"flags": [{**FLAG, "evidence": "unknown"}]}, "!! A on decode: wanted '1', file '0', running unknown"),
        ({"flags": [{**FLAG, "file": GONE}]}, f"!! A on decode: wanted '1', file {GONE}, running '0'"),
        ({"flags": [UNKNOWN]}, "!! A on decode: wanted '1', file '1', running unknown"),
        ({"gone": ["/root/serve.sh"]}, "!! /root/serve.sh is gone"),
        (
            {"edited": ["/root/serve.sh"], "kept_by": {"/root/serve.sh": "r1"}},
            "!! /root/serve.sh is as release r1 has it, not the current one",
        ),
        ({"edited": ["/root/serve.sh"]}, "!! /root/serve.sh was edited by another hand since the release"),
        ({"current": None}, "no release yet"),
        ({"last": None}, "no rollout yet"),
        (
            {"last": LAST | {"outcome": "error", "exit_code": 130, "ended_as": "stopped"}},
            "last rollout x: deploy STOPPED 2 h ago by ann@laptop: the race",
        ),
        (
            {"last": LAST | {"ended_as": "fail", "rolled_back_to": "r1"}},
            "last rollout x: deploy FAIL, back to r1, 2 h ago by ann@laptop: the race",
        ),
        (
            {"last": LAST | {"ended_as": "stopped", "going_back_to": "r1"}},
            "last rollout x: deploy STOPPED, not yet back to r1, 2 h ago by ann@laptop: the race",
        ),
        ({"expiring": [EXPIRING]}, "!! A expires in 3 d (2026-12-01), owned by kernels"),
        (
            {"expiring": [{**EXPIRING, "since": "2026-08-14"}]},
            "!! A expires in 3 d (2026-12-01), wanted since 2026-08-14, owned by kernels",
        ),
        (
            {"expiring": [{**EXPIRING, "days": -3, "owner": None}]},
            "!! A expired 3 d ago (2026-12-01), owned by nobody",
        ),
        ({"lock": LOCK}, "LOCKED by ann@laptop since 07:00: bench"),
    ],
)  # fmt: skip
def test_what_is_not_well_has_a_line_of_its_own(fields: dict[str, Any], line: str) -> None:
    assert line in screens.status(shown(**fields))


def test_a_unit_whose_environment_is_unknown_says_why_unless_it_is_down() -> None:
    silent = {"evidence": "unknown", "evidence_says": "title overwritten"}
    _, up, down, *_ = screens.status(shown(units=[UNIT | silent, DOWN | silent]))[1:]
    assert up.endswith("  unknown: title overwritten")
    assert down.endswith("  unknown")


def test_a_host_of_many_is_one_line_and_says_why_it_could_not_be_asked() -> None:
    known = {"host": "gpu1", "error": None, "status": shown(flags=[FLAG])}
    assert screens.one_host(known) == [
        "gpu1: 1 of 1 units up, 1 flag drifts, release r2 (proven, 3 d old), last deploy PASS 2 h ago"
    ]
    assert screens.one_host({"host": "gpu2", "error": "no route\nto host"}) == ["gpu2: no route; to host"]


def test_the_line_of_a_host_is_folded_between_its_words_where_it_is_too_wide() -> None:
    known = {"host": "gpu1", "error": None, "status": shown(flags=[FLAG])}
    lines = screens.one_host(known, 40)
    assert " ".join(line.strip() for line in lines) == screens.one_host(known)[0]
    assert max(map(len, lines)) <= 40


def test_what_is_down_or_was_interrupted_stands_first() -> None:
    lines = screens.status(shown(units=[DOWN], inflight=LEFT, flags=[FLAG, UNKNOWN]))
    assert lines[0] == "!! decode: unit is inactive/dead (success)"
    assert lines[1].startswith("!! INTERRUPTED: deploy x by ann@laptop, begun 07:00")


def test_a_unit_that_is_down_is_told_once_and_not_with_each_of_its_flags() -> None:
    lines = screens.status(shown(units=[DOWN], flags=[UNKNOWN, UNKNOWN | {"flag": "B"}]))
    assert "flags 0 of 2 as the host file says, 2 not known" in lines
    assert [line for line in lines if line.startswith("!!")] == ["!! decode: unit is inactive/dead (success)"]


def test_a_script_that_is_gone_is_told_once_unless_something_else_runs() -> None:
    as_wanted = FLAG | {"file": GONE, "running": "1"}
    lines = screens.status(
        shown(gone=["/root/serve.sh"], flags=[as_wanted, FLAG | {"file": GONE, "flag": "B"}])
    )
    assert [line for line in lines if line.startswith("!!")] == [
        "!! /root/serve.sh is gone",
        f"!! B on decode: wanted '1', file {GONE}, running '0'",
    ]


def test_what_is_under_way_was_not_interrupted() -> None:
    lines = screens.status(shown(lock=LOCK, inflight=LEFT))
    assert lines[0].startswith("LOCKED by ann@laptop")
    assert not any("INTERRUPTED" in line for line in lines)


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"units": [UNIT, DOWN]}, "1 of 2 units up (decode inactive/dead)"),
        ({"inflight": LEFT}, "INTERRUPTED"),
        ({"inflight": LEFT, "lock": LOCK}, "LOCKED"),
        ({"gone": ["/root/serve.sh"]}, "1 file gone"),
        ({"edited": ["/a", "/b"]}, "2 files edited by another hand"),
        ({"flags": [FLAG, FLAG]}, "2 flags drift"),
        ({"expiring": [EXPIRING]}, "1 flag expires"),
    ],
)
def test_the_line_of_a_host_says_what_is_not_well(fields: dict[str, Any], said: str) -> None:
    (line,) = screens.one_host({"host": "gpu1", "error": None, "status": shown(**fields)})
    assert said in line.removeprefix("gpu1: ").split(", ")


ROW = {
    "id": "20261130T074049-e436", "current": True, "verdict": "proven", "created": "", "age": "3 d", "parent": "r1",
    "unfinished": False, "corrupt": {"final80": "0/80", "final60": "2/60"},
    "upper_95": {"final80": 0.0368, "final60": 0.1}, "tok_s": {"1": 277.6, "8": 1942.7},
}  # fmt: skip


def test_releases_are_one_table_with_bounds_and_rates_where_there_is_room() -> None:
    bare = {**ROW, "current": False, "corrupt": {}, "upper_95": {}, "tok_s": {}, "parent": None}
    assert screens.releases([ROW, bare]) == [
        "   release               verdict  age  corrupt                           concurrency:tok/s  parent",
        "*  20261130T074049-e436  proven   3 d  final80 0/80 <3.68% final60 2/60  1:278 8:1943       r1",
        "   20261130T074049-e436  proven   3 d  -                                 -                  -",
    ]


def test_a_release_that_never_fully_ran_says_so_in_both_shapes() -> None:
    row = {**ROW, "verdict": "unproven", "unfinished": True}
    assert "unproven, unfinished" in screens.releases([row])[1]
    assert screens.releases([row], 60)[0] == "* 20261130T074049-e436  unproven, unfinished  3 d"


def test_releases_stand_on_lines_of_their_own_where_it_is_narrow() -> None:
    assert screens.releases([ROW], 60) == [
        "* 20261130T074049-e436  proven  3 d",
        "    final80 0/80 <3.68% final60 2/60",
        "    tok/s by concurrency 1:278 8:1943",
    ]
    assert max(map(len, screens.releases([ROW], 40))) <= 40


@pytest.mark.parametrize(
    ("moment", "want"),
    [
        (None, "-"),
        (8195.0, "5 s"),
        (9000.0, "0 s"),
        ("not a time", "-"),
        ("1970-01-01T02:00:00+00:00", "16 min"),
    ],
)
def test_a_moment_is_told_by_its_distance(moment: Any, want: str) -> None:
    assert screens.ago(moment, 8200.0) == want


def test_logs_of_one_unit_need_no_heading() -> None:
    one, other = {"unit": "a.service", "lines": ["x", "y"]}, {"unit": "b.service", "lines": []}
    assert screens.logs([one]) == ["x", "y"]
    assert screens.logs([one, other]) == ["== a.service", "x", "y", "== b.service", "b.service: no lines"]
