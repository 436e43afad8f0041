"""Which mode may ask for what."""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path

import pytest

from runbook.onhost import calls, dispatch
from runbook.onhost.calls import MODES, Refusal
from runbook.onhost.session import Session

CALLS = {name: dispatch.find(name) for names in dispatch.MODULES.values() for name in names}


def documented() -> dict[str, str]:
    """docs/architecture.md's table: call → mode. A row without a mode goes on with the one above."""
    found: dict[str, str] = {}
    mode = ""
    for line in Path("docs/architecture.md").read_text(encoding="utf-8").splitlines():
        row = re.match(r"\| (\w*) ?\| `(\w+)` \|", line)
        if row:
            mode = row[1] or mode
            found[row[2]] = mode
    return found


def test_the_documented_calls_and_modes_are_those_there_are() -> None:
    assert documented() == {name: call.mode for name, call in CALLS.items()}


def test_the_table_of_modules_names_every_call_that_is_declared() -> None:
    names = [path.stem for path in Path(dispatch.__file__).parent.glob("*.py") if path.stem != "bootstrap"]
    modules = (import_module(f"runbook.onhost.{name}") for name in names)
    declared = {
        value.name for module in modules for value in vars(module).values() if isinstance(value, calls.Call)
    }
    assert declared == set(CALLS)


@pytest.mark.parametrize("name", sorted(CALLS))
@pytest.mark.parametrize("mode", MODES)
def test_a_mode_may_ask_for_its_own_and_what_is_below(name: str, mode: str) -> None:
    allowed = MODES.index(CALLS[name].mode) <= MODES.index(mode)
    if allowed:
        calls.permit(CALLS[name], mode)
    else:
        with pytest.raises(Refusal) as caught:
            calls.permit(CALLS[name], mode)
        assert caught.value.kind == "refused"


def test_a_refused_call_does_nothing(tmp_path: Path) -> None:
    with pytest.raises(Refusal):
        dispatch.dispatch("inflight", {"state": str(tmp_path / "s"), "doc": {"a": 1}}, Session("running"))
    assert not (tmp_path / "s").exists()


def test_an_unknown_call_is_invalid() -> None:
    with pytest.raises(Refusal) as caught:
        dispatch.dispatch("rm_rf", {}, Session("writing"))
    assert caught.value.kind == "invalid"


def test_an_answer_carries_the_id_and_the_refusal(tmp_path: Path) -> None:
    request = {"id": 7, "call": "release_read", "args": {"state": str(tmp_path), "id": "r1"}}
    answer = dispatch.answer(request, Session("reading"))
    assert answer["id"] == 7
    assert answer["error"]["kind"] == "missing"
    assert answer["error"]["data"] == {"id": "r1"}


def test_a_defect_is_worded_with_its_trace() -> None:
    try:
        raise ZeroDivisionError("x")
    except ZeroDivisionError as error:
        answer = dispatch.defect({"id": 3}, error)
    assert answer["error"]["kind"] == "internal"
    assert "ZeroDivisionError" in answer["error"]["data"]["trace"]


def test_an_error_that_names_no_file_names_the_call(tmp_path: Path) -> None:
    state = tmp_path / "state"
    (state / "audit.jsonl").mkdir(parents=True, mode=0o700)
    state.chmod(0o700)
    with pytest.raises(Refusal, match=r"audit_place: .*Is a directory"):
        dispatch.dispatch("audit_place", {"state": str(state)}, Session("reading"))
