from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from hypothesis import given
from hypothesis import strategies as st

from runbook.onhost import pruning

if TYPE_CHECKING:
    from runbook.ssh import InProcessWire


def chain(count: int) -> list[dict[str, Any]]:
    return [{"id": f"r{n}", "parent": f"r{n - 1}" if n else None} for n in range(count)]


def test_the_oldest_go_first_and_the_newest_stay() -> None:
    assert pruning.surplus(chain(6), 3, "r5", None) == ["r0", "r1", "r2"]
    assert pruning.surplus(chain(3), 3, "r2", None) == []


def test_after_a_rollback_far_back_the_current_release_and_its_parent_stay() -> None:
    assert pruning.surplus(chain(6), 2, "r1", None) == ["r2", "r3"]


def test_what_an_interrupted_rollout_goes_back_to_stays() -> None:
    assert pruning.surplus(chain(6), 2, "r5", "r1") == ["r0", "r2", "r3"]


def test_nothing_goes_where_nothing_is_current() -> None:
    assert pruning.surplus(chain(6), 2, None, None) == []
    assert pruning.surplus(chain(6), 2, "gone", None) == []


def test_a_manifest_that_names_nobody_is_left_alone() -> None:
    assert pruning.surplus([{}, {"id": 3}, {"id": []}, *chain(3)], 1, "r2", None) == ["r0"]
    damaged = [*chain(2), {"id": "r2", "parent": ["r1"]}]
    assert pruning.surplus(damaged, 1, "r2", {"x": 1}) == ["r0", "r1"]  # type: ignore[arg-type]


def test_where_a_rollback_goes_stays_although_all_that_came_after_it_never_ran_or_failed() -> None:
    known = chain(6)
    known[4] |= {"unfinished": True}
    known[3] |= {"verdict": "failed"}
    assert pruning.surplus(known, 1, "r5", None) == ["r0", "r1"]
    assert pruning.surplus([{**one, "unfinished": True} for one in known], 1, "r5", None) == []
    loop = [
        {"id": "r0", "parent": "r1", "unfinished": True},
        {"id": "r1", "parent": "r0", "unfinished": True},
    ]
    assert pruning.surplus([{"id": "old"}, *loop], 1, "r1", None) == ["old"]


@given(st.integers(1, 30), st.integers(1, 30), st.data())
def test_current_and_parent_always_stay_and_no_more_than_needed_goes(
    count: int, keep: int, data: st.DataObject
) -> None:
    known = chain(count)
    here = data.draw(st.sampled_from(known))
    gone = pruning.surplus(known, keep, here["id"], None)
    left = [one["id"] for one in known if one["id"] not in gone]
    assert {here["id"], here["parent"]} - {None} <= set(left)
    assert min(keep, count) <= len(left) <= keep + 2


def test_removed_releases_are_gone_from_the_disk(locked: InProcessWire, state: str, tmp_path: Path) -> None:
    script = tmp_path / "serve.sh"
    script.write_text("export A=1\n")
    for number in range(4):
        manifest = {
            "id": f"r{number}",
            "created": f"2026-01-0{number + 1}",
            "parent": None,
            "verdict": "proven",
        }
        locked.call("release_save", state=state, manifest=manifest, files=[str(script)])
    locked.call("set_current", state=state, id="r0")
    assert locked.call("release_prune", state=state, keep=2) == {"removed": ["r1"]}
    seen = locked.call("observe", state=state, files=[], units=[], names=[], patterns=[])["state"]
    assert [one["id"] for one in seen["releases"]] == ["r0", "r2", "r3"]
    assert sorted(path.name for path in Path(state, "releases").iterdir()) == ["r0", "r2", "r3"]
    assert locked.call("release_prune", state=state, keep=2) == {"removed": []}
