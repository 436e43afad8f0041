"""Host files that are wrong: every message, at its place."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from runbook.errors import HostFileError, UnknownHostError
from runbook.inventory import load
from tests.inventory.cases import cases, hosts_dir

if TYPE_CHECKING:
    from pathlib import Path

_GOOD = "ssh: gpu1\nmodel: m\nunits: {server: {unit: s.service, url: 'http://127.0.0.1:30001'}}\n"


@pytest.mark.parametrize("case", cases("refused"))
def test_a_wrong_host_file_tells_every_problem_at_once(case: dict[str, Any], tmp_path: Path) -> None:
    with pytest.raises(HostFileError) as refused:
        load("gpu1", hosts_dir=hosts_dir(tmp_path, case["text"], case.get("profile")))
    assert list(refused.value.problems) == case["want"]
    assert refused.value.exit_code == 2


@pytest.mark.parametrize(
    ("raw", "want"),
    [
        (b"ssh: gpu1\nmodel: caf\xe9\n", "hosts/gpu1.yml:2:11: should be UTF-8, found byte 0xe9"),
        ("ssh: gpu1\n".encode("utf-16"), "hosts/gpu1.yml:1:1: should be UTF-8, found byte 0xff"),
        (b"ssh: gpu1\0\n", r"hosts/gpu1.yml:1:10: found the control character '\x00'"),
        (b"#" * 262_145, "hosts/gpu1.yml:1:1: is longer than 262144 bytes"),
        (b"[" * 30, "hosts/gpu1.yml:1:22: nests deeper than 20 levels"),
        (
            b"[" * 200_000,
            "hosts/gpu1.yml:1:1001: is not YAML: while increasing flow level, exceeded maximum nesting depth",
        ),
        (
            b"- a\n" * 20_000,
            "hosts/gpu1.yml:10000:3: holds more than 10000 values with its aliases written out",
        ),
    ],
)
def test_bytes_that_are_no_readable_yaml_are_refused_where_they_stand(
    raw: bytes, want: str, tmp_path: Path
) -> None:
    directory = hosts_dir(tmp_path, "")
    (directory / "gpu1.yml").write_bytes(raw)
    with pytest.raises(HostFileError) as refused:
        load("gpu1", hosts_dir=directory)
    assert list(refused.value.problems) == [want]


def test_a_directory_in_place_of_a_host_file_is_said(tmp_path: Path) -> None:
    (tmp_path / "hosts/gpu1.yml").mkdir(parents=True)
    with pytest.raises(HostFileError, match=r"hosts/gpu1.yml: cannot be read: Is a directory"):
        load("gpu1", hosts_dir=tmp_path / "hosts")


@pytest.mark.parametrize("name", ["gpu2", "../gpu1", "hosts/gpu1", "/etc/passwd", "..", "", "gpu1.yml"])
def test_an_unknown_host_lists_the_known_ones(name: str, tmp_path: Path) -> None:
    directory = hosts_dir(tmp_path, _GOOD, "model: m\n")
    (directory / "example.yml").write_text(_GOOD)
    (directory / "lab.yml").write_text(_GOOD)
    with pytest.raises(UnknownHostError, match="known hosts: gpu1, lab") as unknown:
        load(name, hosts_dir=directory)
    assert unknown.value.known == ("gpu1", "lab")


def test_a_directory_without_hosts_knows_the_lab(tmp_path: Path) -> None:
    with pytest.raises(UnknownHostError, match="known hosts: lab"):
        load("gpu1", hosts_dir=tmp_path / "nowhere")
