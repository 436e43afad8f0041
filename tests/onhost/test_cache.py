from __future__ import annotations

import base64
import hashlib
import io
import os
import time
import zipfile
from pathlib import Path

import pytest

from runbook.errors import PreflightError
from runbook.onhost.cache import UNUSED_S
from runbook.ssh import InProcessWire


def archive(files: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as file:
        for name, content in files.items():
            file.writestr(name, content)
    return buffer.getvalue()


def put(
    wire: InProcessWire, state: str, content: bytes, digest: str | None = None, piece: int = 1000
) -> bool:
    name = digest or hashlib.sha256(content).hexdigest()
    done = False
    for offset in range(0, len(content), piece):
        encoded = base64.b64encode(content[offset : offset + piece]).decode()
        done = wire.call(
            "cache_put", state=state, digest=name, offset=offset, total=len(content), b64=encoded
        )["done"]
    return done


def test_an_archive_is_unpacked_once_whole(state: str) -> None:
    content = archive({"runbook/load/x.py": b"x = 1\n" * 500, "h11/__init__.py": b""})
    digest = hashlib.sha256(content).hexdigest()
    with InProcessWire("running") as wire:
        assert not wire.call("cache_has", state=state, digest=digest)
        assert put(wire, state, content, piece=100)
        assert wire.call("cache_has", state=state, digest=digest)
    home = Path(state, "cache", digest)
    assert (home / "runbook" / "load" / "x.py").read_bytes() == b"x = 1\n" * 500
    assert [path.name for path in home.parent.iterdir()] == [digest]


def test_a_broken_transfer_begins_anew(state: str) -> None:
    content = archive({"a": b"1" * 5000})
    digest = hashlib.sha256(content).hexdigest()
    with InProcessWire("running") as wire:
        first = base64.b64encode(content[:100]).decode()
        wire.call("cache_put", state=state, digest=digest, offset=0, total=len(content), b64=first)
        assert put(wire, state, content)


def test_a_piece_out_of_order_is_refused(state: str) -> None:
    with InProcessWire("running") as wire, pytest.raises(PreflightError, match="does not follow the 0 bytes"):
        wire.call("cache_put", state=state, digest="0" * 64, offset=5, total=10, b64="YQ==")


def test_what_arrives_as_something_else_is_thrown_away(state: str) -> None:
    with InProcessWire("running") as wire:
        with pytest.raises(PreflightError, match="the archive arrived as"):
            put(wire, state, archive({"a": b"1"}), digest="0" * 64)
        assert not wire.call("cache_has", state=state, digest="0" * 64)
    assert list(Path(state, "cache").iterdir()) == []


@pytest.mark.parametrize("name", ["../evil", "/etc/evil", "a/../../evil"])
def test_a_name_that_leads_out_is_refused(state: str, name: str, tmp_path: Path) -> None:
    content = archive({name: b"x"})
    with InProcessWire("running") as wire, pytest.raises(PreflightError, match="the archive holds"):
        put(wire, state, content)
    assert not list(tmp_path.rglob("evil"))


@pytest.mark.parametrize("digest", ["", "../x", "A" * 64, "0" * 63])
def test_a_digest_that_is_none_is_refused(state: str, digest: str) -> None:
    with InProcessWire("running") as wire, pytest.raises(PreflightError, match="no SHA-256 digest"):
        wire.call("cache_put", state=state, digest=digest, offset=0, total=1, b64="YQ==")


def test_what_was_not_used_for_a_week_goes_when_another_archive_comes(state: str) -> None:
    used, unused, new = (archive({"x.py": text}) for text in (b"1", b"2", b"3"))
    cache = Path(state, "cache")
    with InProcessWire("running") as wire:
        for content in (used, unused):
            put(wire, state, content)
        (cache / "cut.part").write_bytes(b"half")
        for path in cache.iterdir():
            os.utime(path, (0, time.time() - UNUSED_S - 60))
        assert wire.call("cache_has", state=state, digest=hashlib.sha256(used).hexdigest())
        put(wire, state, new)
    kept = {hashlib.sha256(content).hexdigest() for content in (used, new)}
    assert {path.name for path in cache.iterdir()} == kept
