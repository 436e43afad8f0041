"""What travels: the same sources give the same bytes, and they run where nothing of ours is installed."""

from __future__ import annotations

import hashlib
import io
import os
import subprocess
import sys
import zipfile
import zlib
from pathlib import Path
from typing import Any

import pytest

from runbook import bundle
from runbook.ssh import InProcessWire


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> bundle.LoadZip:
    return bundle.load_zip(tmp_path_factory.mktemp("cache"))


def test_the_payload_is_the_same_each_time_and_ends_by_starting_itself(tmp_path: Path) -> None:
    payload = bundle.helper_payload(cache=tmp_path / "once")
    assert payload == bundle.helper_payload(cache=tmp_path / "again")
    source = zlib.decompress(payload).decode()
    assert source.rstrip().endswith("})")
    assert "\n\nstart({'runbook': '', 'runbook.onhost': " in source
    assert "runbook.load" not in source


def test_the_archive_is_named_by_its_contents_and_holds_every_need(archive: bundle.LoadZip) -> None:
    assert archive.digest == hashlib.sha256(archive.content).hexdigest()
    with zipfile.ZipFile(io.BytesIO(archive.content)) as file:
        names = file.namelist()
    tops = {name.partition("/")[0].removesuffix(".py") for name in names}
    assert set(bundle.NEEDS) - {"sniffio"} <= tops
    assert {"runbook/__init__.py", "runbook/load/outcome.py", "certifi/cacert.pem"} <= set(names)
    assert not [
        name for name in names if name.startswith(("runbook/ssh", "runbook/onhost")) or name.endswith(".pyc")
    ]


def test_building_it_again_gives_the_same_bytes(archive: bundle.LoadZip, tmp_path: Path) -> None:
    assert bundle.load_zip(tmp_path) == archive


def test_it_is_built_once_and_then_kept(tmp_path: Path) -> None:
    first = bundle.load_zip(tmp_path)
    (kept,) = tmp_path.iterdir()
    kept.write_bytes(kept.read_bytes() + b"kept")
    assert bundle.load_zip(tmp_path).content == first.content + b"kept"


def test_old_archives_are_not_kept_for_ever(tmp_path: Path) -> None:
    for number in range(9):
        (tmp_path / f"load-{number}.zip").write_bytes(b"old")
        os.utime(tmp_path / f"load-{number}.zip", (number, number))
    bundle.load_zip(tmp_path)
    names = [path.name for path in tmp_path.iterdir()]
    assert len(names) == bundle.KEPT
    assert "load-8.zip" in names


def test_a_cache_that_cannot_be_written_does_not_stop_us(archive: bundle.LoadZip, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert bundle.load_zip(tmp_path / "file" / "below") == archive


def test_a_changed_source_is_another_archive(tmp_path: Path) -> None:
    path = tmp_path / "a.py"
    path.write_text("a = 1\n")
    before, stamp = bundle.pack({"a.py": path}), bundle._stamp({"a.py": path})
    path.write_text("a = 22\n")
    assert bundle.pack({"a.py": path}) != before
    assert bundle._stamp({"a.py": path}) != stamp


def test_the_time_of_a_file_does_not_change_the_archive(tmp_path: Path) -> None:
    path = tmp_path / "a.py"
    path.write_text("a = 1\n")
    before = bundle.pack({"a.py": path})
    os.utime(path, (1, 1))
    path.chmod(0o600)
    assert bundle.pack({"a.py": path}) == before


def test_a_missing_need_is_named() -> None:
    with pytest.raises(ModuleNotFoundError, match="no_such_package is needed for the load archive"):
        list(bundle._need("no_such_package"))
    assert "sniffio" in bundle._OPTIONAL


class Counting:
    """A wire that counts what it is asked."""

    def __init__(self, wire: InProcessWire) -> None:
        self.wire = wire
        self.asked: list[str] = []

    def call(self, name: str, /, *, deadline_s: float = 60.0, **args: Any) -> Any:
        self.asked.append(name)
        return self.wire.call(name, deadline_s=deadline_s, **args)


def test_it_is_sent_once_a_host(archive: bundle.LoadZip, tmp_path: Path) -> None:
    state = str(tmp_path / "state")
    with InProcessWire("running") as wire:
        counting = Counting(wire)
        directory = bundle.send_load(counting, state, archive)
        assert counting.asked[0] == "cache_has"
        assert set(counting.asked[1:]) == {"cache_put"}
        assert Path(directory, "httpx", "__init__.py").is_file()
        again = Counting(wire)
        assert bundle.send_load(again, state, archive) == directory
        assert again.asked == ["cache_has"]


def test_the_command_quotes_nothing_away() -> None:
    argv = bundle.load_argv("/opt/py/bin/python3", "/var/lib/it's here", ["repro", "--tag", "a b"])
    assert argv[:4] == ["/opt/py/bin/python3", "-I", "-S", "-c"]
    assert argv[5:] == ["repro", "--tag", "a b"]
    compile(argv[4], "start", "exec")
    assert '"/var/lib/it\'s here"' in argv[4]


@pytest.mark.real
def test_the_load_generator_runs_from_its_directory_alone(archive: bundle.LoadZip, tmp_path: Path) -> None:
    with InProcessWire("running") as wire:
        directory = bundle.send_load(wire, str(tmp_path / "state"), archive)
    places = "import httpx, runbook.load.outcome as o; print(httpx.__file__, o.__file__)"
    code = f"import sys; sys.path.insert(0, {directory!r}); {places}"
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", code],
        capture_output=True,
        text=True,
        check=True,
        cwd="/",
        env={"PATH": "/bin"},
    )
    assert all(path.startswith(directory) for path in done.stdout.split())
