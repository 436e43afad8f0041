"""A declared drop-in, an environment file and launch arguments on a real systemd: deployed, held by verify, put back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
import yaml

from tests.system.service import laying
from tests.system.service.alone import FLAG, Alone
from tests.system.service.server import MODEL

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.system.hosts import TestHost
    from tests.system.operators import Operator

pytestmark = pytest.mark.system

SERVER = Alone("sglang-single", "sglang.service", 30000, "/root/serve_sglang.sh")
DROP_IN = "/etc/systemd/system/sglang.service.d/50 flags.conf"  # a blank is legal, and systemctl quotes it
ENV_FILE = "/etc/default/sglang"
STATE = f"{laying.STATE_HOME}/sglang-single"
BEFORE = {
    DROP_IN: f'[Service]\nEnvironment={FLAG}=1 "SGLANG_NOTE=two words"\nEnvironmentFile={ENV_FILE}\n'.encode(),
    ENV_FILE: b"# ours\nSGLANG_LEVEL=1\nHF_TOKEN=hf_sesame\n",
}
AFTER = {
    DROP_IN: f'[Service]\nEnvironment="SGLANG_NOTE=two words"\nEnvironmentFile={ENV_FILE}\n'.encode(),
    ENV_FILE: b"# ours\nSGLANG_LEVEL=2\nHF_TOKEN=hf_sesame\n",
}


def text(*options: str) -> bytes:
    return SERVER.text().rstrip(b"\n") + "".join(f" {option}" for option in options).encode() + b"\n"


@pytest.fixture
def operator(operators: Operator, host: TestHost) -> Iterator[Operator]:
    for path, content in BEFORE.items():
        host.put(path, content, 0o640)
    SERVER.lay(host)
    assert SERVER.script
    host.put(SERVER.script, text("--chatty"), 0o755)
    host.sh(f"systemctl restart {SERVER.unit}; until ss -ltn | grep -q :{SERVER.port}; do sleep 0.05; done")
    unit = {
        "unit": SERVER.unit, "script": SERVER.script,
        "health": f"http://127.0.0.1:{SERVER.port}/health", "url": f"http://127.0.0.1:{SERVER.port}",
        "drop_ins": [DROP_IN], "env_files": [ENV_FILE],
        "args": {"--chatty": {"absent": True, "why": "slow"}, "--mem-fraction-static": {"value": "0.9", "why": "room"}},
    }  # fmt: skip
    document: dict[str, Any] = {
        "service": "sglang-single",
        "ssh": laying.ssh_of(host),
        "model": MODEL,
        "units": {"server": unit},
        "flags": {
            FLAG: {"absent": True, "why": "step times are not needed any more"},
            "SGLANG_LEVEL": {"value": "2", "why": "more"},
            "SGLANG_NOTE": {"value": "two words", "why": "stands in the drop-in already"},
        },
        "wait": {"health": {"attempts": 200, "every_s": 0.05, "timeout_s": 3},
                 "ready": {"attempts": 40, "every_s": 0.05, "timeout_s": 5, "max_tokens": 8}, "hold_s": 0.2},
    }  # fmt: skip
    operators.describe("gpu1", yaml.safe_dump(document, sort_keys=False))
    yield operators
    host.sh(f"rm -r '{DROP_IN.rpartition('/')[0]}' {ENV_FILE}")
    SERVER.take_away(host)


def running(host: TestHost) -> tuple[dict[str, str], list[str]]:
    """The SGLANG_ variables and the last words of the server's command line."""
    pid = host.run(["systemctl", "show", "--property=MainPID", "--value", SERVER.unit]).strip()
    entries = host.read(f"/proc/{pid}/environ").decode().split("\0")
    environ = dict(entry.split("=", 1) for entry in entries if entry.startswith("SGLANG_"))
    return environ, host.read(f"/proc/{pid}/cmdline").decode().split("\0")[6:-1]


def files(host: TestHost) -> dict[str, bytes]:
    return {path: host.read(path) for path in BEFORE}


def test_declared_files_and_arguments_are_deployed_and_go_back(operator: Operator, host: TestHost) -> None:
    assert SERVER.script
    stale = ({FLAG: "1", "SGLANG_NOTE": "two words", "SGLANG_LEVEL": "1"}, ["--chatty"])
    assert running(host) == stale
    found = operator.run("verify", "gpu1", skip_validation=True)
    assert found.code == 5, found.document["error"]
    drifting = {
        one["message"].split(" ")[0] for one in found.document["findings"] if one["outcome"] == "fail"
    }
    assert drifting == {FLAG, "SGLANG_LEVEL", "--chatty", "--mem-fraction-static"}

    deployed = operator.run("deploy", "gpu1", skip_validation=True)
    assert deployed.code == 0, (deployed.document["error"], deployed.document["findings"])
    changed = [change["path"] for change in deployed.document["plan"]["changes"]]
    assert changed == [SERVER.script, ENV_FILE, DROP_IN]
    assert "hf_sesame" not in str(deployed.document)
    assert (
        deployed.steps.index("write")
        < deployed.steps.index("daemon-reload")
        < deployed.steps.index("restart server")
    )
    assert (files(host), host.read(SERVER.script)) == (AFTER, text("--mem-fraction-static 0.9"))
    assert host.run(["stat", "-c", "%a", DROP_IN]).strip() == "640"
    assert running(host) == (
        {"SGLANG_NOTE": "two words", "SGLANG_LEVEL": "2"},
        ["--mem-fraction-static", "0.9"],
    )
    assert operator.run("verify", "gpu1", skip_validation=True).code == 0
    again = operator.run("plan", "gpu1").document["plan"]
    assert (again["changes"], again["restarts"], again["daemon_reload"]) == ([], [], False)

    back = operator.run("rollback", "gpu1")
    assert back.code == 0, (back.document["error"], back.document["findings"])
    assert (files(host), host.read(SERVER.script)) == (BEFORE, text("--chatty"))
    assert running(host) == stale


# Before systemd's own on root's PATH; it refuses the first reload it is asked for.
REFUSING = """\
#!/bin/sh
if [ "$1" = daemon-reload ] && rm /run/refuse-reload; then echo "Failed to reload daemon: No space left on device" >&2; exit 1; fi
exec /usr/bin/systemctl "$@"
"""


def test_a_daemon_reload_that_fails_takes_the_files_back(operator: Operator, host: TestHost) -> None:
    assert SERVER.script
    before = (files(host), host.read(SERVER.script), running(host))
    host.put("/usr/local/bin/systemctl", REFUSING.encode(), 0o755)
    host.sh("touch /run/refuse-reload")
    try:
        failed = operator.run("deploy", "gpu1", skip_validation=True)
    finally:
        host.sh("rm -f /usr/local/bin/systemctl /run/refuse-reload")
    assert failed.code == 1, (failed.document["error"], failed.document["findings"])
    assert "No space left on device" in failed.document["error"]
    assert failed.document["rolled_back_to"]
    assert (files(host), host.read(SERVER.script), running(host)) == before
    status = operator.run("status", "gpu1").document["status"]
    assert (status["inflight"], status["edited"]) == (None, [])
    assert (
        host.run(["systemctl", "show", "--property=NeedDaemonReload", "--value", SERVER.unit]).strip() == "no"
    )
    assert operator.run("deploy", "gpu1", skip_validation=True).code == 0


def test_an_argument_changed_by_hand_and_never_restarted_is_drift_and_is_healed(
    operator: Operator, host: TestHost
) -> None:
    assert SERVER.script
    assert operator.run("deploy", "gpu1", skip_validation=True).code == 0
    host.put(SERVER.script, text("--mem-fraction-static 0.7"), 0o755)
    found = operator.run("verify", "gpu1", skip_validation=True)
    assert found.code == 5
    assert any(
        "script '0.7', running '0.9' (cmdline of pid" in one["message"] for one in found.document["findings"]
    )
    healed = operator.run("deploy", "gpu1", skip_validation=True)
    assert healed.code == 0
    assert running(host)[1] == ["--mem-fraction-static", "0.9"]
    assert "restart server" not in healed.steps, "what runs was right all the time"
