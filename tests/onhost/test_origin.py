"""A state directory copied from another machine: its releases and its interrupted rollout are none of ours."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from runbook.errors import MissingOnHostError, PreflightError
from runbook.onhost import origin
from tests.onhost.saving import save
from tests.onhost.test_releases import summary

if TYPE_CHECKING:
    from runbook.ssh import InProcessWire

GPU9 = {"host": "gpu9", "machine": "f" * 32}
NAME = os.uname().nodename


@pytest.fixture
def identified() -> dict[str, str]:
    here = origin.here()
    if not here["machine"]:
        pytest.skip("this machine has no id")
    return here


def moved(path: Path, made_on: Any = GPU9) -> None:
    """The document as another machine would have written it."""
    document = json.loads(path.read_text("utf-8"))
    path.write_text(json.dumps({**document, origin.KEY: made_on}), "utf-8")


@pytest.mark.usefixtures("identified")
def test_releases_of_another_machine_are_named_and_neither_given_back_nor_made_current(
    locked: InProcessWire, state: str, files: dict[str, Path]
) -> None:
    theirs, ours = (save(locked, state, files.values(), id=name) for name in ("r1", "r2"))
    moved(Path(state, "releases", theirs, "manifest.json"))
    found = summary(locked, state)
    assert ([one["id"] for one in found["releases"]], found["damaged"]) == ([ours], ["r1 (made on gpu9)"])
    for call in ("release_read", "set_current"):
        with pytest.raises(
            MissingOnHostError, match=r"release r1 \(made on gpu9\) in .* none of this machine's"
        ):
            locked.call(call, state=state, id=theirs)
    assert Path(state, "releases", theirs, "restore.sh").exists(), "a person may still want it"


@pytest.mark.usefixtures("identified")
def test_a_rollout_interrupted_on_another_machine_was_not_interrupted_here(
    locked: InProcessWire, state: str
) -> None:
    locked.call("inflight", state=state, doc={"rollout": "x", "step": "edit"})
    assert summary(locked, state)["inflight"]["rollout"] == "x"
    moved(Path(state, "inflight.json"))
    assert summary(locked, state)["inflight"] is None
    locked.call("inflight_step", state=state, rollout="x", step="edit", done=True)
    assert json.loads(Path(state, "inflight.json").read_text("utf-8"))[origin.KEY] == GPU9, "left as it was"


def test_what_was_made_here_stays_ours_and_keeps_its_origin(
    locked: InProcessWire, state: str, files: dict[str, Path]
) -> None:
    name = save(locked, state, files.values(), id="r1")
    assert summary(locked, state)["releases"][0][origin.KEY] == origin.here()
    with pytest.raises(PreflightError, match="of a release never change"):
        locked.call("release_update", state=state, id=name, fields={origin.KEY: GPU9})


@pytest.mark.parametrize(
    "made_on",
    [
        None,
        "gpu9",
        {"host": NAME, "machine": "f" * 32},
        {"host": "gpu9", "machine": origin.here()["machine"]},
        {"host": "gpu9", "machine": ""},
    ],
    ids=["from before", "no origin", "another id with each boot", "renamed", "no id"],
)
def test_only_another_name_and_another_id_make_another_machine(made_on: Any) -> None:
    assert origin.elsewhere({origin.KEY: made_on}) == ""
