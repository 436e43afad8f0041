"""The host file that `lab.up --real` writes, without a host."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from runbook import inventory
from runbook.errors import UsageError
from tests.system.boot import owner
from tests.system.boot.machine import Bind
from tests.system.boot.records import Place
from tests.system.real import hostfile
from tests.system.real.standing import Kept, Standing

_PROFILES = Path(__file__).parents[2] / "hosts" / "profiles"


def test_the_file_describes_the_lab_under_the_names_of_a_gpu_host(tmp_path: Path) -> None:
    shutil.copytree(_PROFILES, tmp_path / "hosts" / "profiles")
    hostfile.path(tmp_path).write_text(hostfile.text({"address": "192.0.2.10", "user": "root"}))
    host = inventory.load("real", hosts_dir=tmp_path / "hosts")
    assert (host.service, host.ssh.address) == ("sglang-dsv4-pd", "192.0.2.10")
    assert [unit.script for unit in host.units] == [
        "/root/serve_dsv4_prefill.sh",
        "/root/serve_dsv4_decode.sh",
        None,
    ]
    assert {flag.name for flag in host.flags} >= {
        "SGLANG_OPT_USE_TOPK_V2",
        "SGLANG_OPT_USE_MULTI_STREAM_OVERLAP",
    }
    assert [one.name for one in host.validations] == ["final80", "final60"]


def test_only_our_own_file_is_written_over_and_taken_away(tmp_path: Path) -> None:
    foreign, ours = tmp_path / "foreign.yml", tmp_path / "ours.yml"
    foreign.write_text("service: mine\n")
    ours.write_text(hostfile.MARK + "service: edited since\n")
    with pytest.raises(UsageError, match=r"not of lab\.up's making"):
        hostfile.refuse_foreign(foreign)
    hostfile.refuse_foreign(ours)
    hostfile.refuse_foreign(tmp_path / "nowhere.yml")
    for file in (foreign, ours, tmp_path / "nowhere.yml"):
        hostfile.remove(file)
    assert (foreign.exists(), ours.exists()) == (True, False)


@pytest.mark.parametrize("kept", ["", "null", "[]", "{}", '{"keeper": 1, "place": {"directory": "/x"}}', "{"])
def test_a_note_of_a_host_that_is_none_names_no_host(kept: str, tmp_path: Path) -> None:
    (tmp_path / "standing.json").write_text(kept)
    assert Kept(tmp_path).load() is None


def test_a_note_of_a_host_reads_back(tmp_path: Path) -> None:
    noted = Standing(
        owner.me(), Place(Path("/cache/runs/7"), 7), "192.0.2.10", "ssh root@192.0.2.10", "hosts/real.yml"
    )
    Kept(tmp_path).save(noted)
    assert Kept(tmp_path).load() == noted


def test_a_path_with_nspawns_own_separator_is_bound_in_whole() -> None:
    assert Bind(Path("/srv/a:b"), "/opt/c").option() == r"--bind-ro=/srv/a\:b:/opt/c"
