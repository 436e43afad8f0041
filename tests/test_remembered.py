"""A plan that changes nothing is made once, as a comparison that holds: what it was made from is all that counts, and no
secret is kept."""

from __future__ import annotations

import datetime
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from runbook import comparison, planning, remembered, usercache
from runbook.errors import EditRefusedError, MissingOnHostError
from runbook.model import Flag, Policy, Processes, Release
from runbook.verify import bookkeeping
from tests.building import DECODE, OVERLAP, PREFILL, host, observation, script, unit_state

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import ModuleType

    from runbook.model import Host, Observation, UnitState

RIGHT = {
    "prefill.service": unit_state("prefill.service"),
    "decode.service": unit_state("decode.service", {OVERLAP: "0"}),
}


def converged(**fields: Any) -> Observation:
    right = {"prefill": script(), "decode": script(**{OVERLAP: "0"}), "units": RIGHT}
    return observation(**(right | fields))


# Imported on the way, and read by no plan and no comparison.
NO_MATTER = {"__init__.py", "load/__init__.py", "onhost/__init__.py"}


@pytest.fixture(autouse=True)
def _this_code() -> Iterator[None]:
    yield
    remembered._code_stamp.cache_clear()


def counted(monkeypatch: pytest.MonkeyPatch, room: ModuleType, name: str) -> list[Host]:
    """The hosts that a function of a room, which works as ever, is called for."""
    found: list[Host] = []
    real = getattr(room, name)

    def counting(host: Host, seen: Observation) -> Any:
        found.append(host)
        return real(host, seen)

    monkeypatch.setattr(room, name, counting)
    return found


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[Host]:
    """The hosts that a plan was really made for."""
    return counted(monkeypatch, planning, "deploy")


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
    remembered._code_stamp.cache_clear()
    monkeypatch.setattr(usercache, "stamps", lambda paths: iter([b"another version"]))
    remembered.deploy(host(), converged(), cache=tmp_path)
    assert len(made) == 2


def test_a_plan_that_does_something_is_not_kept(made: list[Host], tmp_path: Path) -> None:
    for _ in range(2):
        assert remembered.deploy(host(), observation(), cache=tmp_path).changes
    assert (len(made), list(tmp_path.iterdir())) == (2, [])


@pytest.mark.parametrize("name", ["ROUTER_API_KEY", "HTTPS_PROXY", "PGPASS", "SGLANG_EXTRA"])
def test_what_a_script_holds_can_be_read_out_of_no_cache(made: list[Host], tmp_path: Path, name: str) -> None:
    units = RIGHT | {"decode.service": unit_state("decode.service", {OVERLAP: "0", name: "open-sesame"})}
    seen = converged(decode=script(**{OVERLAP: "0", name: "open-sesame"}), units=units)
    for _ in range(2):
        assert remembered.deploy(host(), seen, cache=tmp_path).wanted["decode"][name] == "open-sesame"
    (kept,) = tmp_path.iterdir()
    assert len(made) == 1
    assert b"open-sesame" not in kept.read_bytes()
    assert b"runbook" not in kept.read_bytes(), "no pickle lies open"


def test_a_file_changed_in_the_moment_after_a_start_is_not_rounded_away(tmp_path: Path) -> None:
    units = {name: unit_state(name, kind="unknown", started_at=1000.0101) for name in RIGHT}
    for ctime_s, restarts in ((1000.05, 1), (999.0, 0)):
        seen = converged(units=units)
        files = {path: file._replace(ctime_ns=int(999e9)) for path, file in seen.files.items()}
        files[DECODE] = files[DECODE]._replace(ctime_ns=int(ctime_s * 1e9))
        found = remembered.deploy(host(), seen._replace(files=files), cache=tmp_path)
        assert (len(found.restarts) > 0) == bool(restarts)


@pytest.mark.real
@pytest.mark.parametrize("room", ["planning", "comparison"])
def test_all_code_that_plans_and_compares_is_in_the_key(room: str) -> None:
    ours = "[m.__file__ for name, m in sys.modules.items() if name.startswith('runbook')]"
    code = f"import runbook.{room}, sys; print(*{ours}, sep=chr(10))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = done.stdout.splitlines()
    known = {str(path) for path in remembered._code()}
    left = {Path(path).relative_to(remembered._PACKAGE).as_posix() for path in loaded if path not in known}
    assert left <= NO_MATTER


def test_books_in_order_are_read_once_and_remarks_are_said_every_time(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    read = counted_books(monkeypatch)
    today = datetime.date(2026, 11, 30)
    wrong = Flag("SGLANG_OPT_USE_MULTI_STREAM_OVERLAP", "maybe", "a reason", ("decode",))
    for _ in range(2):
        assert remembered.amiss(host(), today, cache=tmp_path) == ()
    assert len(read) == 1
    for _ in range(2):
        (found,) = remembered.amiss(host(flags=(wrong,)), today, cache=tmp_path)
        assert found.check == "ledger.rejected"
    assert len(read) == 3


def test_a_flag_expires_whether_or_not_its_book_was_read_yesterday(tmp_path: Path) -> None:
    today = datetime.date(2026, 11, 30)
    flag = Flag("A", "1", "a reason", ("decode",), expires=today)
    strict = host(flags=(flag,), policy=Policy(expired_flags="fail"))
    assert remembered.amiss(strict, today, cache=tmp_path) == ()
    tomorrow = today + datetime.timedelta(days=1)
    assert [found.check for found in remembered.amiss(strict, tomorrow, cache=tmp_path)] == ["ledger.expired"]


def counted_books(monkeypatch: pytest.MonkeyPatch) -> list[Host]:
    """The hosts whose books were really read."""
    found: list[Host] = []
    real = bookkeeping.book

    def counting(host: Host, seen: Observation | None, today: datetime.date) -> Any:
        found.append(host)
        return real(host, seen, today)

    monkeypatch.setattr(bookkeeping, "book", counting)
    return found


def test_what_cannot_be_planned_is_said_every_time(made: list[Host], tmp_path: Path) -> None:
    seen = converged()
    gone = seen._replace(files={**seen.files, DECODE: seen.files[DECODE]._replace(content=None)})
    for _ in range(2):
        with pytest.raises(EditRefusedError):
            remembered.deploy(host(), observation(decode=b"if\n"), cache=tmp_path)
        with pytest.raises(MissingOnHostError):
            remembered.deploy(host(), gone, cache=tmp_path)
    assert len(made) == 4


@pytest.mark.parametrize("content", [b"", b"short", b"no seal that this could open", bytes(4096)])
def test_what_is_no_plan_is_planned_anew(made: list[Host], tmp_path: Path, content: bytes) -> None:
    remembered.deploy(host(), converged(), cache=tmp_path)
    (kept,) = tmp_path.iterdir()
    kept.write_bytes(content)
    assert remembered.deploy(host(), converged(), cache=tmp_path).empty
    assert len(made) == 2


def test_a_bit_of_it_that_is_another_is_found(made: list[Host], tmp_path: Path) -> None:
    remembered.deploy(host(), converged(), cache=tmp_path)
    (kept,) = tmp_path.iterdir()
    whole = kept.read_bytes()
    for at in range(0, len(whole), 7):
        kept.write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
        made.clear()
        remembered.deploy(host(), converged(), cache=tmp_path)
        assert len(made) == 1


def test_what_another_could_have_written_is_not_read(made: list[Host], tmp_path: Path) -> None:
    remembered.deploy(host(), converged(), cache=tmp_path)
    (kept,) = tmp_path.iterdir()
    os.chmod(kept, 0o666)  # noqa: PTH101
    remembered.deploy(host(), converged(), cache=tmp_path)
    assert len(made) == 2


# ------------------------------------------------------------------ what a look says of flags


@pytest.fixture
def compared(monkeypatch: pytest.MonkeyPatch) -> list[Host]:
    """The hosts that a comparison was really made for."""
    return counted(monkeypatch, comparison, "of")


def test_a_comparison_that_holds_is_made_once_and_is_no_plan(compared: list[Host], tmp_path: Path) -> None:
    assert remembered.deploy(host(), converged(), cache=tmp_path).empty
    first = remembered.comparison(host(), converged(), cache=tmp_path)
    again = remembered.comparison(host(), converged(), cache=tmp_path)
    assert (len(compared), first.holds, again) == (1, True, comparison.of(host(), converged()))


@pytest.mark.parametrize(
    "state",
    [
        unit_state("decode.service", {OVERLAP: "1"}),
        unit_state("decode.service"),
        unit_state("decode.service", {OVERLAP: "0"}, kind="unknown"),
    ],
)
def test_what_does_not_hold_or_is_not_known_is_compared_every_time(
    compared: list[Host], tmp_path: Path, state: UnitState
) -> None:
    remembered.comparison(host(), converged(), cache=tmp_path)
    for _ in range(2):
        seen = converged(units=RIGHT | {"decode.service": state})
        assert not remembered.comparison(host(), seen, cache=tmp_path).holds
    assert len(compared) == 3
    assert len(list(tmp_path.iterdir())) == 1


def test_another_host_is_compared_anew(compared: list[Host], tmp_path: Path) -> None:
    """Though all that was seen is the same: a row says why, since and until when, too."""
    since, expires = datetime.date(2026, 8, 14), datetime.date(2027, 1, 1)
    other = host(flags=tuple(flag._replace(since=since, expires=expires) for flag in host().flags))
    remembered.comparison(host(), converged(), cache=tmp_path)
    rows = remembered.comparison(other, converged(), cache=tmp_path).rows
    assert {(row["since"], row["expires"]) for row in rows} == {("2026-08-14", "2027-01-01")}
    assert len(compared) == 2
