"""A plan that changes nothing is made once: what it was made from is all that counts, and no secret is kept."""

from __future__ import annotations

import os
import pickle
from typing import TYPE_CHECKING, Any

import pytest

from runbook import planning, remembered, usercache
from runbook.errors import EditRefusedError, MissingOnHostError
from runbook.model import Flag, Processes, Release
from tests.building import DECODE, OVERLAP, PREFILL, host, observation, script, unit_state

if TYPE_CHECKING:
    from pathlib import Path

    from runbook.model import Host, Observation

RIGHT = {
    "prefill.service": unit_state("prefill.service"),
    "decode.service": unit_state("decode.service", {OVERLAP: "0"}),
}


def converged(**fields: Any) -> Observation:
    right = {"prefill": script(), "decode": script(**{OVERLAP: "0"}), "units": RIGHT}
    return observation(**(right | fields))


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[Host]:
    """The hosts that a plan was really made for."""
    found: list[Host] = []
    deploy = planning.deploy

    def counted(host: Host, seen: Observation) -> Any:
        found.append(host)
        return deploy(host, seen)

    monkeypatch.setattr(planning, "deploy", counted)
    return found


def test_the_same_look_at_the_same_host_is_planned_once(made: list[Host], tmp_path: Path) -> None:
    first = remembered.deploy(host(), converged(), cache=tmp_path)
    again = remembered.deploy(host(), converged(), cache=tmp_path)
    assert (len(made), again) == (1, first)
    assert (again.empty, again.digest, again.to_json()) == (True, first.digest, first.to_json())


def test_what_no_plan_reads_makes_no_other(made: list[Host], tmp_path: Path) -> None:
    remembered.deploy(host(), converged(), cache=tmp_path)
    release = Release("r1", "2026-11-30T00:00:00+00:00", None, "proven", ())
    later = converged()._replace(now=1.0, free_bytes=1, lock_holder={"who": "x"}, releases=(release,))
    remembered.deploy(host(), later, cache=tmp_path)
    assert len(made) == 1


def test_the_clock_of_processes_may_tremble(made: list[Host], tmp_path: Path) -> None:
    for started_at in (1000.0101, 1000.0197, 1000.0899):
        units = {
            name: unit_state(name, dict(state.processes.environ), started_at=started_at)
            for name, state in RIGHT.items()
        }
        assert remembered.deploy(host(), converged(units=units), cache=tmp_path).empty
    assert len(made) == 1


@pytest.mark.parametrize(
    "change",
    [
        lambda h, s: (h._replace(flags=h.flags[:1]), s),
        lambda h, s: (h, s._replace(manager={OVERLAP: "0"})),
        lambda h, s: (h, s._replace(manager_error="not known")),
        lambda h, s: (h, s._replace(feeds={DECODE: s.files[DECODE]})),
        lambda h, s: (h, s._replace(files=s.files | {PREFILL: s.files[PREFILL]._replace(ctime_ns=7)})),
        lambda h, s: (
            h,
            s._replace(
                units=s.units
                | {"decode.service": s.units["decode.service"]._replace(processes=Processes("unknown"))}
            ),
        ),
    ],
)
def test_anything_a_plan_may_read_makes_another(made: list[Host], tmp_path: Path, change: Any) -> None:
    remembered.deploy(host(), converged(), cache=tmp_path)
    remembered.deploy(*change(host(), converged()), cache=tmp_path)
    assert len(made) == 2


def test_other_code_plans_anew(made: list[Host], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    remembered.deploy(host(), converged(), cache=tmp_path)
    monkeypatch.setattr(usercache, "stamps", lambda paths: iter([b"another version"]))
    remembered.deploy(host(), converged(), cache=tmp_path)
    assert len(made) == 2


def test_a_plan_that_does_something_is_not_kept(made: list[Host], tmp_path: Path) -> None:
    for _ in range(2):
        assert remembered.deploy(host(), observation(), cache=tmp_path).changes
    assert (len(made), list(tmp_path.iterdir())) == (2, [])


def test_a_secret_stands_in_no_cache(tmp_path: Path) -> None:
    secret = Flag("ROUTER_API_KEY", "open-sesame", "who may ask", ("decode",))
    units = RIGHT | {"decode.service": unit_state("decode.service", {"ROUTER_API_KEY": "open-sesame"})}
    seen = converged(decode=script(ROUTER_API_KEY="open-sesame"), units=units)
    remembered.deploy(host(flags=(secret,)), seen, cache=tmp_path)
    assert not [path for path in tmp_path.rglob("*") if b"open-sesame" in path.read_bytes()]


def test_what_cannot_be_planned_is_said_every_time(made: list[Host], tmp_path: Path) -> None:
    seen = converged()
    gone = seen._replace(files={**seen.files, DECODE: seen.files[DECODE]._replace(content=None)})
    for _ in range(2):
        with pytest.raises(EditRefusedError):
            remembered.deploy(host(), observation(decode=b"if\n"), cache=tmp_path)
        with pytest.raises(MissingOnHostError):
            remembered.deploy(host(), gone, cache=tmp_path)
    assert len(made) == 4


@pytest.mark.parametrize("content", [b"", b"no pickle", pickle.dumps("no plan"), pickle.dumps(object())])
def test_what_is_no_plan_is_planned_anew(made: list[Host], tmp_path: Path, content: bytes) -> None:
    remembered.deploy(host(), converged(), cache=tmp_path)
    (kept,) = tmp_path.iterdir()
    kept.write_bytes(content)
    assert remembered.deploy(host(), converged(), cache=tmp_path).empty
    assert len(made) == 2


def test_what_another_could_have_written_is_not_read(made: list[Host], tmp_path: Path) -> None:
    remembered.deploy(host(), converged(), cache=tmp_path)
    (kept,) = tmp_path.iterdir()
    os.chmod(kept, 0o666)  # noqa: PTH101
    remembered.deploy(host(), converged(), cache=tmp_path)
    assert len(made) == 2
