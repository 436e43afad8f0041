from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from runbook.onhost import gpus
from runbook.ssh import InProcessWire
from runbook.stages import recording
from tests.sshd import script

if TYPE_CHECKING:
    from pathlib import Path

SMI = """\
case "$1" in
  --query-gpu=*) printf '0, NVIDIA RTX PRO 6000, 580.65.06, 90112, 97887, 0\\n1, NVIDIA H20, 580.65.06, 3, 97871, [N/A]\\n' ;;
  --query-compute-apps=*) printf '%s, 90000\\n99999999, 100\\n' "$OWNER" ;;
esac
"""

MEETING = """\
here="$(dirname "$0")"
case "$1" in --query-gpu=*) mine=a other=b ;; *) mine=b other=a ;; esac
touch "$here/$mine"
for _ in $(seq 200); do
  if [ -e "$here/$other" ]; then
    [ $mine = b ] || printf '0, NVIDIA H20, 580.65.06, 3, 97871, 0\\n'
    exit 0
  fi
  sleep 0.02
done
exit 1
"""


def put(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    script(tmp_path / "nvidia-smi", text)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")


@pytest.mark.real
def test_gpus_and_who_holds_their_memory_are_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(tmp_path, monkeypatch, SMI)
    monkeypatch.setenv("OWNER", str(os.getpid()))
    with InProcessWire("reading") as wire:
        found = wire.call("gpus")
    assert [(one["index"], one["name"], one["ecc_uncorrected"]) for one in found["gpus"]] == [
        (0, "NVIDIA RTX PRO 6000", 0),
        (1, "NVIDIA H20", None),
    ]
    (holder,) = found["processes"]  # the other has ended since
    assert (holder["pid"], holder["memory_used_mib"]) == (os.getpid(), 90000)
    assert "python" in holder["cmdline"] or "pytest" in holder["cmdline"]


@pytest.mark.real
def test_a_host_without_gpus_says_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with InProcessWire("reading") as wire:
        found = wire.call("gpus")
    assert found == {"gpus": [], "processes": [], "detail": "no program nvidia-smi on this host"}


@pytest.mark.real
def test_a_driver_that_fails_says_what_it_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(tmp_path, monkeypatch, "echo 'Failed to initialize NVML: Driver/library version mismatch'; exit 18\n")
    with InProcessWire("reading") as wire:
        assert "exited 18\nFailed to initialize NVML" in wire.call("gpus")["detail"]


@pytest.mark.real
def test_both_questions_are_asked_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each answers only once the other was asked, too."""
    put(tmp_path, monkeypatch, MEETING)
    with InProcessWire("reading") as wire:
        found = wire.call("gpus")
    assert (len(found["gpus"]), found["detail"]) == (1, "")


@pytest.mark.real
def test_a_driver_that_hangs_is_asked_once_in_a_session(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(tmp_path, monkeypatch, "exec sleep 60\n")
    monkeypatch.setattr(gpus, "TIMEOUT_S", 0.7)
    with InProcessWire("reading") as wire:
        machine, again = wire.answer("machine"), wire.answer("gpus")
    assert machine["ok"]["gpus"] == []
    assert [(row["argv"][0], row["error"]) for row in machine["ran"]] == [
        ("nvidia-smi", "no answer within 1 s")
    ]
    assert "ran" not in again
    assert again["ok"]["gpus"] == again["ok"]["processes"] == []
    assert again["ok"]["detail"].endswith("did not end\nno answer within 1 s; it is not asked again")


@pytest.mark.real
def test_a_driver_that_fails_is_asked_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(tmp_path, monkeypatch, "exit 9\n")
    with InProcessWire("reading") as wire:
        wire.call("machine")
        put(tmp_path, monkeypatch, SMI)
        assert len(wire.call("gpus")["gpus"]) == 2


def test_the_driver_takes_less_time_than_the_end_of_a_rollout_waits() -> None:
    """The record is appended behind whatever the helper still asks."""
    assert gpus.TIMEOUT_S < recording.DEADLINE_S


@pytest.mark.parametrize("text", ["", "\n", "one, two\n", "No running processes found\n"])
def test_lines_of_another_shape_are_no_gpus(text: str) -> None:
    assert gpus.parse(text, ["pid", "memory", "name"]) == []
