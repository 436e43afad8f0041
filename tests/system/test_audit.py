"""The audit on a real host: its head stands in the journal, where cutting the chain does not reach."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.system.controller import Controller
from tests.system.service import laying

if TYPE_CHECKING:
    from tests.system.hosts import TestHost
    from tests.system.operators import Operator

pytestmark = pytest.mark.system

# Of its own: the journal remembers the chains of other tests, whose files are gone.
STATE_DIR = "/var/lib/runbook-audited"
CHAIN = f"{STATE_DIR}/{laying.SERVICE}/audit.jsonl"


def test_the_journal_shows_a_cut_chain_and_believes_no_other_user(
    operators: Operator, host: TestHost
) -> None:
    laying.lay(host)
    operators.describe("gpu1", laying.host_file(host, state_dir=STATE_DIR))
    desk = Controller(operators.directory, operators.environ)
    for _ in range(2):
        assert operators.run("deploy", "gpu1", skip_validation=True).code == 0

    state = CHAIN.rpartition("/")[0]
    forged = f"{state} #9 {'0' * 64}"
    host.run(["setpriv", "--reuid=65534", "--clear-groups", "logger", "-t", "runbook-audit", "--", forged])
    host.run(["journalctl", "--sync"])
    sound = desk.run("audit.verify", "--host", "gpu1")
    assert sound.code == 0, sound.document
    messages = {finding["check"]: finding["message"] for finding in sound.document["findings"]}
    assert messages["audit.journal"] == "the host's journal agrees, up to #2"

    host.sh(f"sed -i '$d' {CHAIN}")
    cut = desk.run("audit.verify", "--host", "gpu1")
    assert cut.code == 1
    failed = {finding["check"] for finding in cut.document["findings"] if finding["outcome"] == "fail"}
    assert failed == {"audit.journal", "audit.mirror", "audit.aside"}


def test_a_record_of_a_real_host_tells_its_processes_and_what_was_asked(
    operators: Operator, host: TestHost
) -> None:
    laying.lay(host)
    operators.describe("gpu1", laying.host_file(host, state_dir=STATE_DIR))
    before = laying.pids(host)
    deployed = operators.run("deploy", "gpu1", skip_validation=True)
    assert deployed.code == 0
    shown = Controller(operators.directory, operators.environ).run("audit.show", deployed.rollout)
    restarts = {row["unit"]: (row["before"], row["after"]) for row in shown.document["restarts"]}
    after = laying.pids(host)
    assert restarts == {laying.unit(role): (before[role], after[role]) for role in ("prefill", "decode")}
    assert shown.document["operator"]["fingerprint"].startswith("SHA256:")
    assert {"files_write", "unit_restart", "machine"} <= {row["call"] for row in shown.document["calls"]}
    ran = {row["command"]: row for row in shown.document["programs"]}
    for role in ("prefill", "decode"):
        restart = ran[f"systemctl restart --no-block -- {laying.unit(role)}"]
        assert (restart["call"], restart["exit"], restart["times"]) == ("unit_restart", 0, 1)
    assert [row["exit"] for command, row in ran.items() if command.startswith("bash -n ")] == [0, 0]
    asked = [row for row in ran.values() if row["call"] == "units"]
    assert max(row["times"] for row in asked) > 1
    assert all(row["duration_s"] >= row["longest_s"] > 0 for row in asked)
