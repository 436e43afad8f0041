"""What else feeds a unit's environment is told in the same look: unit files, environment files, sourced files, the manager."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, Any

import pytest

from runbook.onhost import feeds
from runbook.ssh import InProcessWire

if TYPE_CHECKING:
    from pathlib import Path

    from tests.onhost.conftest import FakeSystemd

pytestmark = pytest.mark.real


def observed(state: str, *scripts: Path) -> dict[str, Any]:
    with InProcessWire("reading") as wire:
        answer: dict[str, Any] = wire.call(
            "observe", state=state, files=[str(path) for path in scripts], units=["d.service"],
            names=["FLAG"], patterns=[r"SGLANG_\w+"],
        )  # fmt: skip
    return answer


def test_unit_files_environment_files_and_sourced_files_are_told_with_secrets_masked(
    tmp_path: Path, state: str, systemd: FakeSystemd
) -> None:
    script, common, deeper = (tmp_path / name for name in ("serve.sh", "common.sh", "deeper.sh"))
    script.write_text(f'set -a; . "{common}"\nexec python\n')
    common.write_text(f"source {deeper}\nexport FLAG=1 HF_TOKEN=hf_x\n")
    deeper.write_text("export FLAG=2\n")
    fragment, drop_in = tmp_path / "d.service", tmp_path / "flags.conf"
    fragment.write_text("[Service]\nEnvironment=FLAG=3\n")
    drop_in.write_text('[Service]\nEnvironment=API_KEY=x "B_TOKEN=y z"\n')
    for name in ("a.env", "b.env"):
        (tmp_path / name).write_text(f"FLAG={name}\n")
    systemd.shows(
        f"Id=d.service\nFragmentPath={fragment}\nDropInPaths={drop_in}\n"
        f"EnvironmentFiles={tmp_path}/*.env (ignore_errors=no)\nEnvironmentFiles=/nowhere (ignore_errors=yes)\n"
    )
    found = observed(state, script)["feeds"]
    texts = {path: look["b64"] and base64.b64decode(look["b64"]).decode() for path, look in found.items()}
    assert texts == {
        str(common): f"source {deeper}\nexport FLAG=1 HF_TOKEN=***\n",
        str(fragment): "[Service]\nEnvironment=FLAG=3\n",
        str(drop_in): '[Service]\nEnvironment=API_KEY=*** "B_TOKEN=***"\n',
        str(tmp_path / "a.env"): "FLAG=a.env\n",
        str(tmp_path / "b.env"): "FLAG=b.env\n",
        "/nowhere": None,
        str(deeper): "export FLAG=2\n",
    }


def test_a_file_too_large_to_be_one_says_so(tmp_path: Path, state: str, systemd: FakeSystemd) -> None:
    big = tmp_path / "big.env"
    big.write_bytes(b"#" * (feeds.LIMIT_BYTES + 1))
    systemd.shows(f"Id=d.service\nEnvironmentFiles={big} (ignore_errors=no)\n")
    assert "at most" in observed(state)["feeds"][str(big)]["error"]


def test_what_no_shell_would_take_for_a_file_is_not_read(
    tmp_path: Path, state: str, systemd: FakeSystemd
) -> None:
    script = tmp_path / "serve.sh"
    script.write_text('. "$HERE/a.sh"\n. relative.sh\n. /etc/../etc/x\ncd /tmp.d /root\n')
    systemd.shows("Id=d.service\n")
    assert observed(state, script)["feeds"] == {}


def test_of_the_managers_environment_only_what_was_asked_leaves(state: str, systemd: FakeSystemd) -> None:
    systemd.shows("Id=d.service\n")
    systemd.environment("FLAG=1\nSGLANG_X=$'a b'\nSGLANG_API_KEY=s3\nPATH=/bin\n")
    assert observed(state)["manager"] == {
        "environ": {"FLAG": "1", "SGLANG_X": "a b", "SGLANG_API_KEY": "***"},
        "error": None,
    }


def test_a_manager_that_does_not_answer_is_said(state: str, systemd: FakeSystemd) -> None:
    systemd.shows("Id=d.service\n")
    systemd.fails(1, "Access denied")
    manager = observed(state)["manager"]
    assert (manager["environ"], "Access denied" in manager["error"]) == ({}, True)
