"""What was probably meant by the name of a unit or file that is not there."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from runbook.onhost import command, neighbours
from runbook.onhost.calls import Refusal

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

UNITS = (
    "sglang-dsv4-decode.service static -\nsglang-dsv4-decode.timer static -\nsshd.service enabled enabled\n"
)


@pytest.mark.parametrize(
    ("name", "names", "want"),
    [
        ("decoder.service", ["decode.service", "sshd.service"], ["decode.service"]),
        ("decoder.service", ["decode.timer", "decode.socket"], []),
        ("/root/serve_dsv4_prefil.sh", ["/root/serve_dsv4_prefill.sh", "/root/.bashrc"], ["/root/serve_dsv4_prefill.sh"]),
        ("/root/a.sh", ["/root/zzz.sh"], []),
        ("/root/serve.sh", ["/root/serve.sh"], []),
        ("/root/serve9.sh", [f"/root/serve{n}.sh" for n in range(8)], 3),
    ],
)  # fmt: skip
def test_names_that_are_almost_the_same_are_found_among_their_kind(
    name: str, names: list[str], want: list[str] | int
) -> None:
    found = neighbours.near(name, names)
    assert len(found) == want if isinstance(want, int) else found == want


def look(exists: bool | None) -> dict[str, Any]:
    return {"exists": exists}


def test_files_are_found_in_the_directory_and_units_by_systemd(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[Sequence[str]] = []

    def listed(argv: Sequence[str]) -> str:
        asked.append(argv)
        return UNITS

    monkeypatch.setattr(command, "run", listed)
    there = tmp_path / "serve_decode.sh"
    there.touch()
    (tmp_path / "serve_decodes.sh").mkdir()
    gone, unit = str(tmp_path / "serve_decoder.sh"), "sglang-dsv4-decoder.service"
    shown = {unit: {"LoadState": "not-found"}, "sshd.service": {"LoadState": "loaded"}}
    looks = {gone: look(False), str(there): look(True), "/root/closed.sh": look(None)}
    assert neighbours.of(shown, looks, "system") == {
        unit: ["sglang-dsv4-decode.service"],
        gone: [str(there)],
    }
    assert len(asked) == 1


def test_nothing_is_asked_where_all_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command, "run", lambda argv: pytest.fail("asked"))
    assert neighbours.of({"a.service": {"LoadState": "loaded"}}, {"/a": look(True)}, "system") == {}


def test_what_cannot_be_listed_suggests_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(argv: Sequence[str]) -> str:
        raise Refusal("failed", "no bus", {})

    monkeypatch.setattr(command, "run", refused)
    nowhere = str(tmp_path / "none" / "serve.sh")
    assert neighbours.of({"a.service": {"LoadState": "not-found"}}, {nowhere: look(False)}, "user") == {
        nowhere: []
    }
