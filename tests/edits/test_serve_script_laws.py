"""Laws of the serve script edit, on generated scripts: really run, before and after, under bash."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

import pytest
from hypothesis import event, example, given, settings
from hypothesis import strategies as st

from runbook.edits.serve_script import edit, read
from runbook.errors import EditRefusedError
from tests.edits.bash_stub import environment, lay
from tests.edits.scripts import NAMES, scripts, values

if TYPE_CHECKING:
    from pathlib import Path

_FEW = settings().max_examples // 4  # the first law holds these too
_wanted = st.dictionaries(st.sampled_from(NAMES), values | st.none(), min_size=1, max_size=2)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return lay(tmp_path_factory.mktemp("serve"))


def _split(wanted: dict[str, str | None]) -> tuple[dict[str, str], list[str]]:
    return {n: v for n, v in wanted.items() if v is not None}, [n for n, v in wanted.items() if v is None]


@pytest.mark.real
@given(script=scripts(), wanted=_wanted)
@example(script='export K\n[ -n "$N" ] && exec python other\nexport K=0\npython -m x\n', wanted={"K": "1"})
def test_only_the_asked_names_differ_in_what_the_server_really_gets(
    folder: Path, script: str, wanted: dict[str, str | None]
) -> None:
    to_set, to_unset = _split(wanted)
    try:
        edited = edit(script, set=to_set, unset=to_unset)
    except EditRefusedError as refused:
        event(f"refused: {refused.reason[:40]}")
        return
    before, after = environment(folder, script.encode()), environment(folder, edited.encode())
    if before is None or after is None:
        event("the script ends before it launches")
        assert before == after or edited != script
        return
    event("changed" if edited != script else "kept")
    asked = {name.encode() for name in wanted}
    assert {n: v for n, v in after.items() if n not in asked} == {
        n: v for n, v in before.items() if n not in asked
    }
    assert {n: v for n, v in after.items() if n in asked} == {
        n.encode(): v.encode() for n, v in to_set.items()
    }


@pytest.mark.real
@given(script=scripts())
@example(script="printf -v 'J[0]' 5\nexport J=0\npython -m sglang.launch_server\n")
@example(script="mapfile J <<<a\nexport J=0\npython -m sglang.launch_server\n")
@example(script="read -a J <<<a\nexport J=0\npython -m sglang.launch_server\n")
@example(script="export K=1\n: ${!EMPTY:=4}; export K=0\npython -m sglang.launch_server\n")
@example(script="export K=1\necho $((1 / N)); export K=0\npython -m sglang.launch_server\n")
@example(script='[ -n "$N" ] && exec python other\nK=0 python -m sglang.launch_server\n')
def test_what_is_read_is_what_the_server_really_gets(folder: Path, script: str) -> None:
    with contextlib.suppress(EditRefusedError):
        seen = environment(folder, script.encode())
        if seen is None:
            return
        found = read(script)
        literal = {name: value for name, value in found.values.items() if value is not None}
        assert {name: seen.get(name.encode()) for name in literal} == {
            n: v.encode() for n, v in literal.items()
        }
        unsure = {*found.unreadable, *(name for name, value in found.values.items() if value is None)}
        assert {name.decode() for name in seen} - set(literal) <= unsure or "*" in found.unreadable


@settings(max_examples=_FEW)
@given(script=scripts(), wanted=_wanted)
def test_a_second_edit_changes_nothing_and_the_first_reads_back(
    script: str, wanted: dict[str, str | None]
) -> None:
    to_set, to_unset = _split(wanted)
    with contextlib.suppress(EditRefusedError):
        edited = edit(script, set=to_set, unset=to_unset)
        assert edit(edited, set=to_set, unset=to_unset) == edited
        values_now = read(edited).values
        assert {name: values_now.get(name) for name in to_set} == to_set
        assert not set(to_unset) & set(values_now)


@settings(max_examples=_FEW)
@given(script=scripts(), value=values)
@example(script="export K=0;   export K &\nwait\nexec python\n", value="0")
def test_a_new_name_set_and_unset_again_leaves_the_script_as_it_was(script: str, value: str) -> None:
    with contextlib.suppress(EditRefusedError):
        there = edit(script, set={"NEW_NAME": value})
        assert edit(there, unset=["NEW_NAME"]) == script
