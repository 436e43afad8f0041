from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from runbook import inventory
from runbook.lab import layout, state
from runbook.lab.state import LabState
from runbook.lab.systemd.command import command_of
from runbook.lab.systemd.unitfile import load_unit

PORTS = {"prefill": 30000, "decode": 30002, "router": 30001, "bootstrap": 8998, "prometheus": 29000}


def lab_at(root: Path) -> LabState:
    return LabState(root, 2222, PORTS, "someone", "/venv/bin/python")


def test_units_run_the_scripts_in_start_order(tmp_path: Path) -> None:
    layout.lay(lab_at(tmp_path))
    for role in ("prefill", "decode", "router"):
        unit = load_unit(tmp_path / "units", f"sglang-dsv4-{role}.service")
        assert unit.load_state == "loaded", unit.problem
        assert command_of(unit, {}) == (f"{tmp_path}/host/root/serve_dsv4_{role}.sh",)
        assert unit.working_directory == str(layout.package_home())
        assert unit.wanted_by == ("multi-user.target",)
    assert "sglang-dsv4-prefill.service" in load_unit(tmp_path / "units", "sglang-dsv4-decode.service").after


@pytest.mark.parametrize("name", ["with blank", "it's", "100%", 'quo"te', "ünï", "$HOME"])
def test_a_root_of_any_name_ends_up_in_units_and_scripts_unharmed(tmp_path: Path, name: str) -> None:
    root = tmp_path / name
    lab = lab_at(root)._replace(python=f"{root}/bin/python")
    layout.lay(lab)
    unit = load_unit(root / "units", "sglang-dsv4-decode.service")
    assert command_of(unit, {}) == (f"{root}/host/root/serve_dsv4_decode.sh",)
    script = (root / "host/root/serve_dsv4_decode.sh").read_text()
    assigned = next(line for line in script.splitlines() if line.startswith("PYTHON="))
    shown = subprocess.run(
        ["bash", "-c", f'{assigned}\nprintf %s "$PYTHON"'], capture_output=True, text=True, check=True
    )
    assert shown.stdout == lab.python


def test_scripts_and_tools_may_be_executed_and_units_not(tmp_path: Path) -> None:
    layout.lay(lab_at(tmp_path))
    modes = {path.parent.name: path.stat().st_mode & 0o777 for path in tmp_path.rglob("*") if path.is_file()}
    assert modes == {"root": 0o755, "units": 0o644, "bin": 0o755}


def test_the_router_knows_the_pair_and_looks_nothing_up(tmp_path: Path) -> None:
    layout.lay(lab_at(tmp_path))
    text = (tmp_path / "host/root/serve_dsv4_router.sh").read_text().replace("\\\n", "")
    assert "--prefill http://127.0.0.1:30000 8998" in text
    assert "--decode http://127.0.0.1:30002" in text
    assert "export HF_HUB_OFFLINE=1" in text
    assert (layout.tokenizer() / "tokenizer.json").is_file()


def test_the_labs_host_file_is_complete_and_names_what_was_laid(tmp_path: Path) -> None:
    lab = lab_at(tmp_path)
    layout.lay(lab)
    host = inventory.load(
        "lab", hosts_dir=layout.package_home() / "hosts", variables={"lab": lab.variables()}
    )
    assert (host.ssh.address, host.ssh.port, host.ssh.user) == ("127.0.0.1", 2222, "someone")
    assert host.ssh.key == f"{tmp_path}/keys/client_ed25519"
    assert host.state == f"{tmp_path}/state/sglang-dsv4"
    assert all(Path(script).is_file() for script in host.scripts)
    assert all((tmp_path / "units" / unit.name).is_file() for unit in host.units)
    assert [unit.health or unit.url for unit in host.units] == [
        "http://127.0.0.1:30000/health",
        "http://127.0.0.1:30002/health",
        "http://127.0.0.1:30001",
    ]
    assert host.traffic == "none"
    assert [(one.name, one.value) for one in host.flags_of("prefill")] == [
        ("SGLANG_SM120_MMA_FLASHMLA", "1"),
        ("SGLANG_SM120_TRITON_INDEXER", "1"),
        ("SGLANG_DSV4_BF16_INDEX_K", "1"),
        ("SGLANG_OPT_USE_TOPK_V2", None),
    ]


def test_the_ready_budget_outlasts_the_labs_circuit_breaker(tmp_path: Path) -> None:
    lab = lab_at(tmp_path)
    layout.lay(lab)
    host = inventory.load(
        "lab", hosts_dir=layout.package_home() / "hosts", variables={"lab": lab.variables()}
    )
    text = (tmp_path / "host/root/serve_dsv4_router.sh").read_text()
    breaker_s = float(text.partition("--cb-timeout-duration-secs ")[2].split()[0])
    assert host.wait.ready.attempts * host.wait.ready.every_s >= breaker_s + 15


def test_ports_are_the_usual_ones_only_where_they_are_wanted() -> None:
    assert state.choose_ports(("a", "b"), {"a": 29999})["a"] in range(20000, 30000)
    chosen = state.choose_ports(("a", "b", "c"), {})
    assert len(set(chosen.values())) == 3


@pytest.mark.real
def test_a_wanted_port_that_is_taken_is_replaced() -> None:
    import socket

    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        taken = other.getsockname()[1]
        assert state.choose_ports(("a",), {"a": taken})["a"] != taken
        assert not state.is_free(taken)
    assert state.choose_ports(("a",), {"a": taken})["a"] == taken


def test_what_was_saved_is_loaded_again(tmp_path: Path) -> None:
    lab = lab_at(tmp_path)
    state.save(lab)
    assert state.load(tmp_path) == lab
