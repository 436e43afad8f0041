from __future__ import annotations

from typing import Any, Literal

import pytest

from runbook.errors import FileChangedError, HelperError
from runbook.ssh.row import Asked, asked, together

CHANGED = {"error": {"kind": "changed", "message": "/root/serve.sh", "data": {"path": "/root/serve.sh"}}}


class Answering:
    """A wire whose host answers every call with this."""

    mode: Literal["writing"] = "writing"

    def __init__(self, answer: Any) -> None:
        self.answer = answer
        self.made: list[tuple[str, Any]] = []

    def call(self, name: str, /, *, deadline_s: float = 60.0, **args: Any) -> Any:
        self.made.append((name, args))
        return self.answer

    def ask_ahead(self, *row: Asked) -> None:
        """Not asked of this one."""


def test_a_row_is_one_call_and_gives_the_value_of_each() -> None:
    wire = Answering([{"ok": {"a": 1}, "took_s": 0.1}, {"ok": 2, "took_s": 0.1}])
    assert together(wire, asked("lock", state="/s"), asked("observe", files=[])) == [{"a": 1}, 2]
    assert wire.made == [
        (
            "several",
            {
                "calls": [
                    {"call": "lock", "args": {"state": "/s"}},
                    {"call": "observe", "args": {"files": []}},
                ]
            },
        )
    ]


def test_the_error_of_a_row_is_that_of_its_call() -> None:
    with pytest.raises(FileChangedError) as caught:
        together(
            Answering([{"ok": {}}, CHANGED]), asked("inflight"), asked("files_write"), asked("set_current")
        )
    assert caught.value.data == {"path": "/root/serve.sh"}


@pytest.mark.parametrize("answer", [None, {}, "x", [1], [{}], [{"error": "x"}], [{"ok": 1}], []])
def test_what_is_no_answer_for_every_call_is_an_error(answer: Any) -> None:
    with pytest.raises(HelperError):
        together(Answering(answer), asked("lock"), asked("observe"))
