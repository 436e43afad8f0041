"""Whatever is saved and pruned, and wherever it stops: the current release and its parent come back byte for byte."""

from __future__ import annotations

import base64
import contextlib
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runbook.onhost import releases
from runbook.onhost.files import digest
from runbook.ssh import InProcessWire
from tests.onhost import saving
from tests.onhost.dying import Killed, lives
from tests.onhost.saving import old_release, save

if TYPE_CHECKING:
    from collections.abc import Iterator

CONTENTS = tuple(f"export A={number}\n".encode() * number for number in range(4))


@dataclass
class Service:
    """A service's files and state, a wire that holds its lock, and what each release was saved with."""

    root: Path
    wire: InProcessWire
    saved: dict[str, dict[Path, bytes]] = field(default_factory=dict)

    @property
    def state(self) -> str:
        return str(self.root / "state" / "svc")

    @property
    def files(self) -> tuple[Path, Path]:
        return self.root / "prefill.sh", self.root / "decode.sh"

    def write(self, *contents: bytes) -> None:
        for path, content in zip(self.files, contents, strict=True):
            path.write_bytes(content)

    def save(self, name: str) -> None:
        self.saved[name] = {path: path.read_bytes() for path in self.files}
        save(self.wire, self.state, self.files, id=name, created=name, parent=self.summary()["current"])

    def become(self, name: str) -> None:
        self.wire.call("set_current", state=self.state, id=name)

    def prune(self, keep: int) -> None:
        self.wire.call("release_prune", state=self.state, keep=keep)

    def summary(self) -> dict[str, Any]:
        return releases.summary(self.state)

    def read(self, name: str) -> dict[Path, bytes]:
        files = self.wire.call("release_read", state=self.state, id=name)["files"]
        return {Path(path): base64.b64decode(kept["b64"]) for path, kept in files.items()}


@contextlib.contextmanager
def served(root: Path) -> Iterator[Service]:
    with InProcessWire("writing") as wire:
        service = Service(root, wire)
        wire.call("lock", state=service.state, holder={})
        yield service


def hold(service: Service) -> None:
    """What is current and what it came from are there as they were saved, and so is every other release that is told of."""
    seen = service.summary()
    parents = {one["id"]: one["parent"] for one in seen["releases"]}
    here = seen["current"]
    if here is not None:
        assert {here, parents[here]} - {None} <= parents.keys()
    assert {name: service.read(name) for name in parents} == {name: service.saved[name] for name in parents}
    assert not seen["damaged"]


def only_what_is_needed_is_there(service: Service) -> None:
    kept = [one["id"] for one in service.summary()["releases"]]
    assert sorted(path.name for path in Path(service.state, "releases").iterdir()) == sorted(kept)
    wanted = {digest(content) for name in kept for content in service.saved[name].values()}
    assert saving.objects(service.state) == wanted


def memory() -> str | None:
    """Where a file system is in memory, since a law's thousands of fsyncs are a disk's minutes; None where none is."""
    return "/dev/shm" if Path("/dev/shm").is_dir() else None


DEEDS = st.one_of(
    st.tuples(st.just("save"), st.sampled_from(CONTENTS), st.sampled_from(CONTENTS)),
    st.tuples(st.just("save and stop"), st.sampled_from(CONTENTS), st.sampled_from(CONTENTS)),
    st.tuples(st.just("go back"), st.integers(0, 9)),
    st.tuples(st.just("prune"), st.integers(1, 4)),
)


def do(service: Service, number: int, deed: tuple[Any, ...]) -> None:
    seen = service.summary()["releases"]
    ids = {one["id"] for one in seen}
    known = [one for one in seen if one["parent"] in {None, *ids}]  # of others nobody promised the parent
    match deed:
        case ("go back", back):
            if known:
                service.become(known[back % len(known)]["id"])
        case ("prune", keep):
            service.prune(keep)
            if service.summary()["current"]:
                only_what_is_needed_is_there(service)
        case (what, *contents):
            service.write(*contents)
            service.save(f"r{number:02}")
            if what == "save":
                service.become(f"r{number:02}")


@settings(max_examples=40)
@given(st.lists(DEEDS, max_size=12))
def test_any_row_of_saves_prunes_and_rollbacks_leaves_current_and_parent_as_they_were_saved(
    deeds: list[tuple[Any, ...]],
) -> None:
    with tempfile.TemporaryDirectory(dir=memory()) as root, served(Path(root)) as service:
        for number, deed in enumerate(deeds):
            do(service, number, deed)
            hold(service)


# ------------------------------------------------------------------ killed at any step


def three_releases(service: Service) -> None:
    """The oldest with copies of its own, as once was usual; the newest shares bytes with it."""
    service.write(CONTENTS[1], CONTENTS[2])
    old_release(service.state, "r0", service.files[0])
    service.saved["r0"] = {service.files[0]: CONTENTS[1]}
    service.become("r0")
    for name, contents in (("r1", (CONTENTS[2], b"r1 alone\n")), ("r2", CONTENTS[1:3])):
        service.write(*contents)
        service.save(name)
        service.become(name)
    service.write(CONTENTS[3], b"never seen\n")


def deploy(service: Service, name: str) -> None:
    service.save(name)
    service.become(name)
    service.prune(2)


def told_by(service: Service) -> list[str]:
    """The calls a deploy's saves and prune make when nothing stops them."""
    three_releases(service)
    with lives() as life:
        deploy(service, "r3")
    return life.calls


@pytest.fixture
def root() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(dir=memory()) as found:
        yield Path(found)


def test_killed_before_any_call_to_the_system_it_leaves_every_release_whole_and_the_next_ends_right(
    root: Path,
) -> None:
    with served(root) as service:
        calls = told_by(service)
    assert len(calls) > 40
    for at in range(len(calls)):
        struck = root / str(at)
        struck.mkdir()
        with served(struck) as service:
            three_releases(service)
            with lives(at), pytest.raises(Killed):
                deploy(service, "r3")
            hold(service)
        with served(struck) as after:
            after.saved = service.saved
            deploy(after, "r4")
            hold(after)
            only_what_is_needed_is_there(after)


def test_bytes_are_on_the_disk_before_a_manifest_names_them(root: Path) -> None:
    with served(root) as service:
        calls = told_by(service)
    objects = [at for at, call in enumerate(calls) if call.startswith("replace") and "/objects/" in call]
    manifest = next(at for at, call in enumerate(calls) if "r3.new/manifest.json.new" in call)
    directory = max(at for at, call in enumerate(calls[:manifest]) if call.endswith("/objects"))
    assert objects
    assert max(objects) < directory < manifest
    assert calls[directory + 1].startswith("fsync")


def test_releases_go_before_the_bytes_they_refer_to(root: Path) -> None:
    with served(root) as service:
        calls = told_by(service)
    gone = max(at for at, call in enumerate(calls) if call.startswith("rename") and "/releases/" in call)
    bytes_gone = [at for at, call in enumerate(calls) if call.startswith("unlink") and "/objects/" in call]
    assert gone < min(at for at in bytes_gone if not calls[at].endswith(".new"))
