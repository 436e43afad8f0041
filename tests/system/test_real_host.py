"""`lab.up --real`: a person's host stays up, every task works on it, and `lab.down --real` leaves nothing of it."""

from __future__ import annotations

import os
import shlex
import shutil
import signal
import subprocess
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from runbook import adopting
from runbook.model import SshTarget
from runbook.request import Request
from tests import jsonschemas
from tests.system import conftest
from tests.system.boot import cgroups, owner
from tests.system.controller import Controller
from tests.system.real.standing import ALIAS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

pytestmark = pytest.mark.system

_HOSTS = Path(__file__).parents[2] / "hosts"
_STALE, _FIX = b"export SGLANG_OPT_USE_TOPK_V2=0\n", b"export SGLANG_OPT_USE_MULTI_STREAM_OVERLAP=0\n"


@pytest.fixture
def desk(tree: Path, tmp_path: Path) -> Iterator[Controller]:
    """An operator who has the profiles and no host yet."""
    shutil.copytree(_HOSTS / "profiles", tmp_path / "hosts" / "profiles")
    cache = str(conftest.CACHE.parent.parent)
    controller = Controller(tmp_path, {"XDG_CACHE_HOME": cache})
    yield controller
    controller.run("lab.down", "--real")


def traces(place: Path, keeper: int) -> list[str]:
    """What this machine still holds of the run of that keeper; nothing where its number is another run's by now."""
    name = f"rbsys{place.name}"
    devices = subprocess.run(["ip", "-o", "link"], capture_output=True, text=True, check=True).stdout
    spaces = subprocess.run(["ip", "netns", "list"], capture_output=True, text=True, check=True).stdout
    groups = [str(group) for root in cgroups.hierarchies() for group in root.glob(f"runbook-{name}-*")]
    mounts = [line for line in Path("/proc/self/mounts").read_text().splitlines() if f"{place}/" in line]
    named = [line for line in (*devices.splitlines(), *spaces.splitlines()) if f"{name}-" in line]
    whose = owner.load(place / "owner.json")
    if whose is not None and whose.pid != keeper:
        return []
    return [*groups, *mounts, *named, *([str(place)] if place.exists() else [])]


def place_of(desk: Controller) -> Path:
    """Where the standing host's run is kept: its key lies there."""
    words = shlex.split(desk.run("lab.status", "--real").document["real"]["ssh"])
    return Path(words[words.index("-i") + 1]).parent


def test_a_real_host_stays_up_for_a_rollout_and_leaves_nothing(desk: Controller) -> None:
    up = desk.run("lab.up", "--real")
    assert (up.code, jsonschemas.problems(up.document)) == (0, [])
    real = up.document["real"]
    read = [*shlex.split(real["ssh"]), "cat", "/root/serve_dsv4_decode.sh"]
    before = subprocess.run(read, capture_output=True, check=True).stdout
    assert _STALE in before
    assert _FIX not in before
    place = place_of(desk)
    assert traces(place, real["pid"])

    deployed = desk.run("deploy", "--host", "real", "--skip-validation", "--yes")
    assert [
        finding["check"] for finding in deployed.document["findings"] if finding["outcome"] == "fail"
    ] == []
    after = subprocess.run(read, capture_output=True, check=True).stdout
    assert after == before.replace(_STALE, _FIX)
    assert desk.run("rollback", "--host", "real", "--yes").code == 0
    assert subprocess.run(read, capture_output=True, check=True).stdout == before

    told = desk.run("lab.status")
    assert (told.document["lab"], told.document["real"]["ssh"]) == (None, real["ssh"])
    assert desk.run("lab.up", "--real").document["real"] == real
    assert desk.run("lab.down", "--real").code == 0
    assert traces(place, real["pid"]) == []
    assert not Path(real["host_file"]).exists()
    assert desk.run("lab.status", "--real").code == 3


def test_it_is_adopted_by_the_alias_it_tells_and_the_adopted_file_deploys(
    desk: Controller, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its router overwrites its environment with its title, as SGLang's does."""
    config = tmp_path / "ssh_config"
    config.write_text(desk.run("lab.up", "--real").document["real"]["alias"] + "\n")
    request = Request("hosts.adopt", ("adopted",), json=True, directory=desk.directory)
    target = SshTarget(ALIAS, config=str(config))
    assert adopting.run(request, target=target) == 0, capsys.readouterr()
    checked = desk.run("hosts.check", "--host", "adopted")
    assert {one["check"] for one in checked.document["findings"]} == {"ledger.unexplained"}
    first = desk.run("deploy", "--host", "adopted", "--yes")
    assert (first.code, first.document["unvalidated"]) == (
        0,
        "neither validated nor benched: the host has live traffic, and --load was not given",
    )
    set_ = desk.run("deploy", "--host", "adopted", "--yes", "--set", "SGLANG_ADOPTED=1")
    assert [one["unit"] for one in set_.document["plan"]["restarts"]] == [
        "sglang-dsv4-prefill.service",
        "sglang-dsv4-decode.service",
    ]
    assert (set_.code, desk.run("rollback", "--host", "adopted", "--yes").code) == (0, 0)


def test_a_host_has_the_key_of_the_one_before(desk: Controller) -> None:
    def key() -> str:
        words = shlex.split(desk.run("lab.up", "--real", "--reset").document["real"]["ssh"])
        file = next(word for word in words if word.startswith("-oUserKnownHostsFile="))
        return Path(file.partition("=")[2]).read_text().split(maxsplit=1)[1]

    assert key() == key()


def wait_until(holds: Callable[[], bool], seconds: float) -> None:
    until = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < until, "did not come true in time"
        time.sleep(0.02)


def is_of_the_dead(place: Path) -> bool:
    whose = owner.load(place / "owner.json")
    return place.exists() and (whose is None or not whose.alive)


@pytest.mark.parametrize("pressed", [os.killpg, os.kill])
@pytest.mark.parametrize(("begun", "then_s"), [("lock", 0.0), ("keeper.log", 0.0), ("keeper.log", 1.5)])
def test_ctrl_c_at_any_moment_of_its_start_leaves_nothing(
    desk: Controller, begun: str, then_s: float, pressed: Callable[[int, int], None]
) -> None:
    """In a terminal every process gets it; by `kill` only the first does."""
    runs = conftest.CACHE / "runs"
    before = set(runs.iterdir())
    with desk.start("lab.up", "--real") as starting:
        wait_until((desk.directory / ".lab/real" / begun).exists, 60)
        time.sleep(then_s)
        pressed(starting.pid, signal.SIGINT)
        said, complained = starting.communicate(timeout=60)
    assert (starting.returncode, said + complained) == (130, b"interrupted\n")
    assert not (desk.directory / "hosts/real.yml").exists()
    assert desk.run("lab.status", "--real").code == 3
    wait_until(lambda: not any(map(is_of_the_dead, set(runs.iterdir()) - before)), 10)


@pytest.mark.heavy
def test_a_killed_keeper_leaves_nothing_but_a_host_file_that_down_takes_away(desk: Controller) -> None:
    real = desk.run("lab.up", "--real").document["real"]
    place = place_of(desk)
    os.kill(real["pid"], signal.SIGKILL)
    assert desk.run("lab.status", "--real").code == 3
    assert desk.run("lab.down", "--real").code == 0
    assert traces(place, real["pid"]) == []
    assert not Path(real["host_file"]).exists()


def test_a_host_file_of_that_name_which_is_somebody_elses_is_left_alone(desk: Controller) -> None:
    desk.write_host("real", "service: mine\n")
    up = desk.run("lab.up", "--real")
    assert (up.code, jsonschemas.problems(up.document)) == (2, [])
    assert "not of lab.up's making" in up.document["error"]
    assert desk.run("lab.down", "--real").code == 0
    assert (desk.directory / "hosts" / "real.yml").read_text() == "service: mine\n"
