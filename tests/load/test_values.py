from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runbook.load.nonces import Registry
from runbook.load.script import Shape, write_scripts
from runbook.load.values import compare, compare_text, is_slip, within_two_edits

REGISTRY = Registry(random.Random(1))
OWN, OTHER = write_scripts(Shape(rounds=2, rows=6, ctx=0), range(2), REGISTRY)
RECORD = OWN.records[0]
WANTED = {"key": RECORD.key, "rows": list(RECORD.rows)}


def kinds(rows: object, **other: object) -> list[str]:
    found = {"key": RECORD.key, "rows": rows, **other}
    return [fault.kind for fault in compare(found, WANTED, OWN.session, REGISTRY)]


def with_row(row: str) -> list[str]:
    return [*RECORD.rows[:2], row, *RECORD.rows[3:]]


def test_the_right_arguments_have_no_fault() -> None:
    assert kinds(list(RECORD.rows)) == []


def test_damage_in_one_group_is_a_slip() -> None:
    first, second, third = RECORD.rows[2].split("-")
    for row in (
        f"{first}-zzzz-{third}",
        f"{first}-{second[:2]}-{third}",
        f"{first}{second}-{third}",
        f"{first}-{second}-{third[:-1]}",
        f"{first}-somethinglonger-{third}",
        f"{first}-{second}-{third}x",
    ):
        assert kinds(with_row(row)) == ["slip"], row


def test_a_whole_group_of_another_session_in_a_slip_is_named() -> None:
    first, _, third = RECORD.rows[2].split("-")
    stranger = OTHER.records[0].rows[0].split("-")[0]
    found = {"key": RECORD.key, "rows": with_row(f"{first}-{stranger}-{third}")}
    (fault,) = compare(found, WANTED, OWN.session, REGISTRY)
    assert (fault.kind, fault.where) == ("slip", "rows[2]")
    assert f"{stranger} is of session 1" in fault.message


def test_a_value_of_another_session_is_foreign() -> None:
    assert kinds(with_row(OTHER.records[1].rows[3])) == ["foreign"]
    assert kinds(with_row(f"x {OTHER.records[1].rows[3]}")) == ["foreign"]


def test_a_value_of_another_run_is_foreign() -> None:
    elsewhere = Registry(random.Random(99)).draw(0)
    (fault,) = compare({"key": RECORD.key, "rows": with_row(elsewhere)}, WANTED, OWN.session, REGISTRY)
    assert fault.kind == "foreign"
    assert "another run" in fault.message


def test_two_groups_of_another_session_are_foreign() -> None:
    first, second, _ = OTHER.records[0].rows[0].split("-")
    assert kinds(with_row(f"{RECORD.rows[2][:4]}-{first}-{second}")) == ["foreign"]


def test_nobodys_value_is_a_bad_value() -> None:
    assert kinds(with_row("zzzz-zzzz-zzzz")) == ["badvalue"]
    assert kinds(with_row(RECORD.rows[2] + "x" + RECORD.rows[3])) == ["badvalue"]


@pytest.mark.parametrize(
    "rows",
    [
        list(RECORD.rows[1:]),
        [*RECORD.rows, RECORD.rows[0]],
        list(reversed(RECORD.rows)),
        [],
        "\n".join(RECORD.rows),
        None,
        [*RECORD.rows[:2], *RECORD.rows[3:], RECORD.rows[2]],
    ],
)
def test_right_values_in_the_wrong_place_are_a_miscopy(rows: object) -> None:
    assert set(kinds(rows)) == {"miscopy"}


def test_an_own_value_of_another_round_is_a_miscopy() -> None:
    assert set(kinds(with_row(OWN.records[1].rows[0]))) == {"miscopy"}


def test_missing_and_unknown_arguments_are_a_miscopy() -> None:
    assert [f.kind for f in compare({"rows": list(RECORD.rows)}, WANTED, 0, REGISTRY)] == ["miscopy"]
    assert kinds(list(RECORD.rows), more=1) == ["miscopy"]


def test_rows_that_are_no_text_are_compared_as_json() -> None:
    assert kinds(with_row(7)) == ["badvalue"]  # type: ignore[arg-type]


def test_the_code_of_finish_is_two_values() -> None:
    wanted = {"code": OWN.code}
    first, last = OWN.records[0].rows[0], OWN.records[-1].rows[-1]
    found = {"right": f"{first}-{last}", "mixed up": f"{last}-{first}", "slip": f"{first[:-1]}-{last}"}
    faults = {name: compare({"code": code}, wanted, OWN.session, REGISTRY) for name, code in found.items()}
    assert {name: [fault.kind for fault in each] for name, each in faults.items()} == {
        "right": [],
        "mixed up": ["miscopy"],
        "slip": ["slip"],
    }
    (stranger,) = compare({"code": f"{first}-{OTHER.records[0].rows[0]}"}, wanted, OWN.session, REGISTRY)
    assert stranger.kind == "foreign"


def test_broken_json_that_is_one_token_away_is_a_slip() -> None:
    text = '{"key": "%s", "rows": ["%s"]}' % (RECORD.key, '", "'.join(RECORD.rows))  # noqa: UP031
    assert [fault.kind for fault in compare_text(text.replace('", "', '"x"', 1), WANTED)] == ["slip"]
    assert compare_text(text[: len(text) // 2], WANTED) == ()


def test_a_value_is_no_slip_of_itself() -> None:
    assert not is_slip(RECORD.key, RECORD.key)


def distance(one: str, other: str) -> int:
    row = list(range(len(other) + 1))
    for place, letter in enumerate(one, 1):
        diagonal, row[0] = row[0], place
        for at, wanted in enumerate(other, 1):
            diagonal, row[at] = row[at], min(row[at] + 1, row[at - 1] + 1, diagonal + (letter != wanted))
    return row[-1]


@given(st.text("ab-", max_size=9), st.text("ab-", max_size=9))
def test_two_edits_are_levenshteins(one: str, other: str) -> None:
    assert within_two_edits(one, other) == (distance(one, other) <= 2)
