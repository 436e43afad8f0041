from __future__ import annotations

import os
from typing import TYPE_CHECKING

from runbook import shipped
from runbook.inventory import lookup

if TYPE_CHECKING:
    from pathlib import Path


def test_a_pipe_or_device_is_no_host(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.yml")
    (tmp_path / "device.yml").symlink_to("/dev/zero")
    assert lookup.known(tmp_path) == ("lab",)


def test_an_empty_directory_has_the_lab_and_the_profiles_that_come_with_runbook(tmp_path: Path) -> None:
    assert lookup.file_of("lab", tmp_path) == shipped.path("hosts/lab.yml")
    assert "sglang-dsv4-pd" in lookup.profiles_beside(tmp_path / "gpu1.yml")


def test_what_the_operator_wrote_comes_before_what_comes_with_runbook(tmp_path: Path) -> None:
    (tmp_path / "profiles").mkdir()
    for name in ("lab.yml", "profiles/sglang-dsv4-pd.yml"):
        (tmp_path / name).touch()
    assert lookup.file_of("lab", tmp_path) == tmp_path / "lab.yml"
    profiles = lookup.profiles_beside(tmp_path / "gpu1.yml")
    assert profiles["sglang-dsv4-pd"] == tmp_path / "profiles/sglang-dsv4-pd.yml"


def test_a_host_file_may_stand_on_a_shipped_profile(tmp_path: Path) -> None:
    (tmp_path / "gpu1.yml").write_text("profile: sglang-dsv4-pd\nssh: gpu1\n")
    host = lookup.load("gpu1", hosts_dir=tmp_path)
    assert (host.service, host.profile) == ("sglang-dsv4-pd", "sglang-dsv4-pd")
