"""What was done on the real lab is recorded whole, signed, and cannot be cut without a trace."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from pathlib import Path

    from tests.endtoend.story import Desk

pytestmark = pytest.mark.real


@pytest.fixture
def signers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The operator signs with a key of their own; the file names it."""
    key = tmp_path / "id"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(key)], check=True)
    monkeypatch.setenv("RUNBOOK_SIGNING_KEY", str(key))
    allowed = tmp_path / "allowed"
    allowed.write_text(f"ann@example.net {' '.join(key.with_name('id.pub').read_text().split()[:2])}\n")
    return allowed


def outcomes(document: dict[str, Any]) -> dict[str, str]:
    return {finding["check"]: finding["outcome"] for finding in document["findings"]}


def test_a_rollout_is_recorded_whole_and_a_cut_chain_shows(fixed: Desk, signers: Path) -> None:
    back = fixed.document("rollback", "--reason", "too slow")
    assert back["exit_code"] == 0, back["findings"]

    record = fixed.document("audit.show", back["rollout"])
    assert (record["action"], record["reason"], record["seq"]) == ("rollback", "too slow", 2)
    assert record["operator"]["fingerprint"].startswith("SHA256:")
    assert {row["unit"] for row in record["restarts"]} == {row["unit"] for row in record["plan"]["restarts"]}
    assert all(0 != row["before"] != row["after"] for row in record["restarts"])
    assert all(len(row["before"]) == len(row["after"]) == 64 for row in record["files"])
    assert record["facts"]["kernel"].startswith("Linux")
    assert record["facts"]["servers"]["decode"]["version"]
    assert record["signature"].startswith("-----BEGIN SSH SIGNATURE-----")

    sound = fixed.document("audit.verify", "--host", "lab", "--allowed-signers", str(signers))
    assert sound["exit_code"] == 0, sound["findings"]
    assert set(outcomes(sound)) == {"audit.chain", "audit.journal", "audit.mirror", "audit.signature"}
    here = fixed.document("audit.verify")
    assert here["exit_code"] == 0, here["findings"]

    chain = fixed.state / "audit.jsonl"
    chain.write_bytes(chain.read_bytes().splitlines(keepends=True)[0])
    cut = fixed.document("audit.verify", "--host", "lab")
    assert cut["exit_code"] == 1
    assert outcomes(cut)["audit.chain"] == "pass"  # by itself a shorter chain is as good as any
    assert outcomes(cut)["audit.journal"] == outcomes(cut)["audit.mirror"] == "fail"
    assert "record #2 truncated" in next(
        finding["message"] for finding in cut["findings"] if finding["check"] == "audit.journal"
    )


def test_a_host_that_wants_a_reason_is_not_even_connected_to(before: Desk) -> None:
    file = before.directory / "hosts" / "lab.yml"
    kept = file.read_text()
    try:
        file.write_text(f"{kept}\npolicy: {{reason: required}}\n" if "\npolicy:" not in kept else
                        kept.replace("\npolicy: {", "\npolicy: {reason: required, "))  # fmt: skip
        refused = before.document("deploy", "--yes")
    finally:
        file.write_text(kept)
    assert refused["exit_code"] == 2
    assert "policy.reason is required: deploy wants --reason" in refused["error"]
    assert refused["steps"] == []
