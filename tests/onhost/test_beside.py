"""Another service directory of the same machine and units: a second lock, unless it is looked at."""

from __future__ import annotations

import fcntl
import json
import os
import threading
from pathlib import Path
from typing import Any

import pytest

from runbook.errors import LockedError
from runbook.onhost import beside, inflight, lock
from runbook.ssh import InProcessWire

pytestmark = pytest.mark.real  # a taker waits a moment for a reader to let go

UNITS, FILES = ["decode.service", "router.service"], ["/srv/decode.sh"]


def service(root: Path, name: str, *, created: str = "2026-01-05T10:00:00+00:00", **fields: Any) -> Path:
    """A service directory with one release, which is current."""
    state = root / name
    release = state / "releases" / "r1"
    release.mkdir(parents=True)
    for directory in (root, state):
        directory.chmod(0o700)
    (state / "lock").touch()
    (state / "current").symlink_to("releases/r1")
    manifest = {"id": "r1", "created": created, "units": dict.fromkeys(UNITS), "files": []}
    (release / "manifest.json").write_text(json.dumps(manifest | fields))
    return state


def found(state: str, units: list[str] = UNITS) -> list[str]:
    return [Path(one["state"]).name for one in beside.services(state, units, FILES)]


@pytest.fixture
def root(state: str) -> Path:
    return Path(state).parent


def test_who_shares_a_unit_is_found_with_the_youngest_release_first(state: str, root: Path) -> None:
    service(root, "older")
    service(root, "younger", created="2026-02-05T10:00:00+00:00", units={"decode.service": {}})
    service(root, "another", units={"other.service": {}})
    service(root, Path(state).name)
    assert found(state) == ["younger", "older"]
    one, _ = beside.services(state, UNITS, FILES)
    assert (one["units"], one["current"], one["lock"], one["interrupted"]) == (
        ["decode.service"], "r1", None, False,
    )  # fmt: skip


@pytest.mark.parametrize("text", ["", "{", "[]", '{"units": 3, "files": "x"}', '{"units": [[]]}'])
def test_a_manifest_that_makes_no_sense_is_passed_over(state: str, root: Path, text: str) -> None:
    (service(root, "odd") / "releases" / "r1" / "manifest.json").write_text(text)
    assert found(state) == []


def test_what_is_a_link_or_open_to_others_or_named_as_no_service_is_passed_over(
    state: str, root: Path
) -> None:
    service(root, "a copy")
    service(root, "open").chmod(0o777)
    (root / "link").symlink_to(service(root.parent / "elsewhere", "svc"))
    assert found(state) == []


@pytest.mark.parametrize("name", ["lock", "inflight.json", "releases/r1/manifest.json"])
def test_a_pipe_where_a_file_should_be_keeps_nobody_waiting(state: str, root: Path, name: str) -> None:
    path = service(root, "odd") / name
    path.unlink(missing_ok=True)
    os.mkfifo(path)
    looking = threading.Thread(target=found, args=(state,), daemon=True)
    looking.start()
    looking.join(20)
    assert not looking.is_alive()


def test_a_holder_nested_beyond_reason_is_somebody(state: str, root: Path) -> None:
    path = service(root, "odd") / "lock"
    path.write_text("[" * 16_000)
    with path.open() as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        (one,) = beside.services(state, UNITS, FILES)
    assert lock.beside_words(one).startswith("somebody, by ")


def test_no_more_than_so_many_directories_are_looked_into(state: str, root: Path) -> None:
    for number in range(beside.LIMIT + 6):
        service(root, f"svc-{number:03}")
    assert len(found(state)) == beside.LIMIT


def test_in_the_usual_place_a_file_in_common_tells_the_machines_units_from_a_labs(
    state: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(beside, "_USUAL", str(tmp_path / "usual"))
    service(tmp_path / "usual", "machine", files=[{"path": FILES[0]}])
    service(tmp_path / "usual", "other", files=[{"path": "/root/serve.sh"}])
    assert found(state) == ["machine"]


def test_a_lock_beside_ours_refuses_us_by_name_and_ours_is_free_again(state: str, root: Path) -> None:
    """A host file's first deploy keeps no release yet: its lock says which units it is about."""
    with InProcessWire("writing") as other, InProcessWire("writing") as wire:
        holder = {"who": "ben", "since": "07:00", "step": "restart decode"}
        other.call("lock", state=str(root / "other"), holder=holder, units=["decode.service"], files=[])
        with pytest.raises(
            LockedError, match=r"locked by ben since 07:00, now at: restart decode, by .*/other, "
        ):
            wire.call("lock", state=state, holder={"who": "ann"}, units=UNITS, files=FILES)
        assert lock.holder(state) is None
        wire.call("lock", state=state, holder={"who": "ann"}, units=["router.service"], files=FILES)


def test_a_free_lock_beside_ours_refuses_nobody_and_an_interrupted_rollout_there_is_told(
    state: str, root: Path
) -> None:
    (service(root, "other") / "inflight.json").write_text('{"rollout": "x"}')
    with InProcessWire("writing") as wire:
        wire.call("lock", state=state, holder={"who": "ann"}, units=UNITS, files=FILES)
    (one,) = beside.services(state, UNITS, FILES)
    assert one["interrupted"]


def test_a_book_that_is_gone_once_the_lock_is_free_was_of_a_rollout_that_ended(
    state: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with InProcessWire("writing") as wire:
        wire.call("inflight", state=state, doc={"rollout": "x"})

        def ended(_: str) -> None:
            wire.call("inflight", state=state, doc=None)

        assert inflight.under_way(state)[0] is not None
        monkeypatch.setattr(lock, "holder", ended)
        assert inflight.under_way(state) == (None, None)
