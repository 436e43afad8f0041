"""Settings as scripts and processes show them."""

from __future__ import annotations

from runbook.edits import serve_script
from runbook.ledger import Setting, of_processes, of_script
from runbook.model import Processes

_SCRIPT = """\
#!/bin/bash
export SGLANG_OPT_USE_TOPK_V2=0 NCCL_DEBUG=INFO
LOCAL_ONLY=1
export CUDA_HOME=$(dirname "$0")
export SGLANG_OPT_USE_TOPK_V2="1"
exec python -m sglang.launch_server --tp 8 --log-requests --mem-fraction-static=0.9 -v --
"""


def test_a_script_tells_what_reaches_its_launch() -> None:
    assert of_script("decode", "/d.sh", serve_script.read(_SCRIPT)) == [
        Setting("decode", "SGLANG_OPT_USE_TOPK_V2", "0", "/d.sh:2"),
        Setting("decode", "NCCL_DEBUG", "INFO", "/d.sh:2"),
        Setting("decode", "CUDA_HOME", None, "/d.sh:4"),
        Setting("decode", "SGLANG_OPT_USE_TOPK_V2", "1", "/d.sh:5"),
        Setting("decode", "--tp", None, "/d.sh:6"),
        Setting("decode", "--log-requests", None, "/d.sh:6"),
        Setting("decode", "--mem-fraction-static", "0.9", "/d.sh:6"),
    ]


def test_a_script_without_a_launch_tells_its_assignments() -> None:
    told = of_script("decode", "/d.sh", serve_script.read("export A=1\n"))
    assert told == [Setting("decode", "A", "1", "/d.sh:1")]


def test_processes_tell_their_environment_and_where_from() -> None:
    seen = Processes("environ", {"NCCL_DEBUG": "INFO", "A_TOKEN": "***"}, pid=4711)
    assert of_processes("decode", seen) == [
        Setting("decode", "A_TOKEN", None, "process 4711", running=True),
        Setting("decode", "NCCL_DEBUG", "INFO", "process 4711", running=True),
    ]


def test_a_recorded_environment_says_so() -> None:
    assert of_processes("decode", Processes("recorded", {"A": "1"}))[0].where == "running (recorded)"


def test_an_unknown_environment_tells_nothing() -> None:
    assert of_processes("decode", Processes("unknown", {"A": "1"})) == []
