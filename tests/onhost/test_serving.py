"""Units that serve a model are found by their command or their script."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from runbook.errors import MissingOnHostError
from runbook.onhost import serving
from runbook.ssh import InProcessWire
from tests.sshd import script

if TYPE_CHECKING:
    from pathlib import Path

    from tests.onhost.conftest import FakeSystemd

pytestmark = pytest.mark.real


def started(path: str, argv: str) -> str:
    return f"ExecStart={{ path={path} ; argv[]={argv} ; ignore_errors=no ; start_time=[n/a] }}\n"


def asked(systemd: FakeSystemd, *units: str) -> dict[str, str | None]:
    with InProcessWire("reading") as wire:
        found = wire.call("serving", units=list(units), words=["sglang", "vllm"])
    return {name: one["script"] for name, one in found.items()}


def test_services_whose_command_or_script_says_a_word_are_found_with_their_scripts(
    tmp_path: Path, systemd: FakeSystemd
) -> None:
    direct, wrapped, other = (tmp_path / name for name in ("a.sh", "b", "c.sh"))
    direct.write_text("exec python -m SGLang.launch_server\n")
    wrapped.write_text("#!/usr/bin/env bash\nexec vllm serve\n")
    other.write_text("#!/bin/sh\nexec nginx\n")
    names = ["a.service", "b.service", "c.service", "d.service"]
    systemd.lists("".join(f"● {name} loaded active running What it is\n" for name in names))
    systemd.shows(
        "\n".join(
            (
                "Id=a.service\n" + started(str(direct), str(direct)),
                "Id=b.service\n" + started("/bin/bash", f"/bin/bash {wrapped} -v"),
                "Id=c.service\n" + started(str(other), str(other)),
                "Id=d.service\n" + started("/opt/venv/bin/vllm", "/opt/venv/bin/vllm serve m"),
            )
        )
    )
    assert asked(systemd) == {"a.service": str(direct), "b.service": str(wrapped), "d.service": None}


@pytest.mark.skipif(os.geteuid() != 0, reason="only root acts as others")
def test_a_script_that_may_not_be_read_is_one_by_its_ending(tmp_path: Path) -> None:
    closed = tmp_path / "serve.sh"
    closed.write_text("exec vllm serve\n")
    closed.chmod(0o600)
    line = started(str(closed), f"{closed} -v").removeprefix("ExecStart=")
    os.seteuid(65534)
    try:
        assert serving._script(line) == (str(closed), b"")
        assert serving._script(line.replace("serve.sh", "serve")) == (None, b"")
    finally:
        os.seteuid(0)


def test_units_that_are_named_are_taken_whatever_they_say(systemd: FakeSystemd) -> None:
    systemd.shows("Id=x.service\nLoadState=loaded\n")
    assert asked(systemd, "x.service") == {"x.service": None}
    assert not any("list-units" in line for line in systemd.asked)


def test_a_named_unit_that_is_not_there_is_missing(systemd: FakeSystemd) -> None:
    systemd.shows("Id=x.service\nLoadState=not-found\n")
    with pytest.raises(MissingOnHostError, match=r"no unit x\.service"):
        asked(systemd, "x.service")


def test_a_script_that_is_a_program_is_none(tmp_path: Path, systemd: FakeSystemd) -> None:
    program = tmp_path / "vllm"
    script(program, "")
    program.write_text("#!/usr/bin/python3\nprint('vllm')\n")
    systemd.shows("Id=x.service\n" + started(str(program), f"{program} serve"))
    assert asked(systemd, "x.service") == {"x.service": None}
