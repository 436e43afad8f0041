"""The audit record of real rollouts on a host in memory: complete, without secrets, and found out when touched."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from runbook import rollout
from runbook.audit.chain import first_defect
from runbook.audit.owed import Owed
from runbook.audit.record import Record, records_of
from runbook.audit.signing import SigningError
from runbook.calling import TellingWire
from runbook.errors import HelperError, LinkLostError
from runbook.model import Flag
from runbook.options import Options
from runbook.stages import recording, servers
from tests import jsonschemas
from tests.building import DECODE, FLAGS, host, script
from tests.fakehost import FakeHost, RunningUnit
from tests.test_rollout import VALIDATIONS, a_host, corrupt, work_on

TOOL = {"version": "1", "revision": "abc", "dirty": False}
INFO = {
    "version": "0.5.23",
    "tp_size": 8,
    "api_key": "sesame",
    "server_args": {"attention_backend": "flashmla", "nothing": None},
    "internal_states": [{"running": 3}],
}


def wired(fake: FakeHost, **fields: Any) -> Any:
    """Work whose calls are told, as the command line's are."""
    work = work_on(fake, tool=TOOL, reason="the race", **fields)
    return work._replace(wire=TellingWire(fake, work.run.tell, fake.clock))  # type: ignore[arg-type]


def deployed(fake: FakeHost, **fields: Any) -> Record:
    rollout.deploy(wired(fake, **fields), Options())
    return records_of(fake.chain)[-1]


@pytest.fixture(scope="module")
def found() -> Record:
    """The record of a deploy that passed; one of its servers tells of itself."""
    pages = {"http://127.0.0.1:30000/server_info": json.dumps(INFO).encode()}
    return deployed(a_host(pages=pages))


def test_a_record_says_who_why_when_and_with_what(found: Record) -> None:
    document = found.document
    assert (found.action, found.outcome, document["exit_code"]) == ("deploy", "pass", 0)
    assert document["operator"] == {"user": "ann", "host": "laptop"}
    assert (document["reason"], document["tool"]) == ("the race", TOOL)
    assert found.started is not None
    assert found.ended is not None
    assert found.ended > found.started


def test_a_record_says_on_what_machine(found: Record) -> None:
    facts = found.table("facts")
    assert (facts["kernel"], facts["gpus"], facts["checkout"]) == ("Linux 6.1", [], None)


def test_a_record_says_which_servers_ran_and_masks_their_keys(found: Record) -> None:
    told = found.table("facts")["servers"]
    assert told["prefill"]["version"] == "0.5.23"
    assert told["prefill"]["arguments"] == {"api_key": "***", "attention_backend": "flashmla", "tp_size": 8}
    assert "tells nothing of itself" in told["decode"]["error"]


def test_a_record_tells_each_files_hash_before_and_after(found: Record) -> None:
    files = {row["path"]: row for row in found.rows("files")}
    assert DECODE in files
    assert all(len(row["before"]) == len(row["after"]) == 64 for row in files.values())
    assert all(row["before"] != row["after"] for row in files.values())


def test_a_record_tells_each_restart_with_both_processes(found: Record) -> None:
    restarts = found.rows("restarts")
    assert [row["unit"] for row in restarts] == ["prefill.service", "decode.service"]
    assert all(0 < row["before"] < row["after"] for row in restarts)


def test_a_record_tells_each_probe_with_its_attempts(found: Record) -> None:
    probes = [
        (row["check"], row["evidence"]["attempts"], row["evidence"]["of"]) for row in found.rows("probes")
    ]
    assert probes.count(("health", 1, 3)) >= 4
    assert ("ready", 1, 3) in probes


def test_a_record_tells_each_call_and_step_with_its_time(found: Record) -> None:
    calls = [row["call"] for row in found.rows("calls")]
    assert calls.index("files_write") < calls.index("unit_restart") < calls.index("job_start")
    assert all(row["at_s"] >= 0 and row["error"] is None for row in found.rows("calls"))
    starts = [row["at_s"] for row in found.rows("steps")]
    assert starts == sorted(starts)
    assert found.document["verdict"] == "proven"


SHOW = {"argv": ["systemctl", "show", "--", "decode.service"], "exit": 0, "took_s": 0.012, "error": None}


def test_a_record_tells_what_the_calls_ran_on_the_host_and_masks_the_key() -> None:
    argv = ["python3", "serve.py", "--header", "x-key: sk-secret-key", "HF_TOKEN=sesame"]
    check = {"argv": argv, "exit": 3, "took_s": 1.5, "error": None}
    found = deployed(a_host(ran={"units": [SHOW], "job_poll": [check]}), api_key="sk-secret-key")
    rows = {row["command"]: row for row in found.rows("programs")}
    show = rows["systemctl show -- decode.service"]
    assert (show["call"], show["exit"], show["longest_s"]) == ("units", 0, 0.012)
    assert show["times"] > 2
    assert rows["python3 serve.py --header 'x-key: ***' HF_TOKEN=***"]["exit"] == 3
    assert found.document["programs_left_out"] == 0
    assert jsonschemas.problems(dict(found.document), "auditRecord") == []


def test_every_field_of_a_record_is_documented(found: Record) -> None:
    text = Path("docs/architecture.md").read_text(encoding="utf-8")
    section = text.partition("## The audit record")[2].partition("\n## ")[0]
    rows = [line.split("|")[1] for line in section.splitlines() if line.startswith("| `")]
    told = {name for row in rows for name in re.findall(r"`(\w+)`", row)}
    schema = json.loads(Path("docs/document.schema.json").read_text(encoding="utf-8"))
    assert found.document.keys() - schema["$defs"]["document"]["properties"].keys() <= told
    assert {"torn", "signature", "recorded_by"} <= told
    assert jsonschemas.problems(dict(found.document), "auditRecord") == []


def test_bytes_all_over_it_count(found: Record) -> None:
    """Some of a long record's; `tests/audit/test_chain.py` flips every bit of every byte of short ones."""
    line = found.line + b"\n"
    assert first_defect(line) is None
    for at in range(0, len(line), 7):
        assert first_defect(line[:at] + bytes([line[at] ^ 1]) + line[at + 1 :]) is not None, at


# ------------------------------------------------------------------ other ends


def test_a_rollout_that_went_back_tells_both_writes_and_the_failed_verdict() -> None:
    found = deployed(a_host(load=corrupt))
    first, second = (row for row in found.rows("files") if row["path"] == DECODE)
    assert (first["before"], first["after"]) == (second["after"], second["before"])
    assert (found.outcome, found.document["verdict"]) == ("fail", "failed")
    assert found.document["rolled_back_to"]


def test_a_unit_that_crashed_is_told_with_the_process_it_started() -> None:
    def crash(unit: RunningUnit) -> None:
        unit.active = "failed"

    found = deployed(a_host(behave=crash))
    assert found.rows("restarts")[0]["after"] is None
    assert found.rows("probes")[0]["outcome"] == "fail"


def test_the_endpoints_key_is_nowhere_in_the_record() -> None:
    pages = {"http://127.0.0.1:30000/server_info": b'{"version": "sk-secret-key"}'}
    found = deployed(a_host(pages=pages), api_key="sk-secret-key")
    assert b"sk-secret-key" not in found.line


def test_a_secret_flags_values_are_nowhere_in_any_record() -> None:
    wanted = host(flags=(*FLAGS, Flag("HF_TOKEN", "new-sesame", "to load the model", ("prefill", "decode"))))
    fake = a_host(host=wanted, files={DECODE: script(HF_TOKEN="old-sesame")})
    options = Options(skip_validation=True)
    for page in (rollout.check, rollout.deploy, rollout.check, rollout.rollback):
        fake.lock = None
        page(wired(fake), options)
    assert len(fake.audit) == 4
    assert b"sesame" not in fake.chain


def test_a_host_that_cannot_say_what_it_is_is_deployed_all_the_same() -> None:
    class Dumb(FakeHost):
        def _machine(self, checkout: str | None = None) -> dict[str, Any]:
            raise HelperError("machine: no such thing")

    found = deployed(Dumb(host=host(validations=VALIDATIONS), load=a_host().load))
    assert found.table("facts")["error"] == "machine: no such thing"
    assert found.outcome == "pass"


def test_over_a_lost_link_no_server_is_asked() -> None:
    assert not recording._may_ask(LinkLostError("gone"))
    assert not recording._may_ask(KeyboardInterrupt())
    assert recording._may_ask(None)


def test_the_source_checkout_is_asked_for_by_its_path() -> None:
    class Asked(FakeHost):
        def _machine(self, checkout: str | None = None) -> dict[str, Any]:
            return {"checkout": {"path": checkout, "revision": "abc", "dirty": True, "error": None}}

    fake = Asked(host=host(validations=VALIDATIONS, checkout="/root/sglang"), load=a_host().load)
    assert deployed(fake).table("facts")["checkout"]["path"] == "/root/sglang"


def test_a_signed_record_carries_a_signature_over_its_place() -> None:
    signed: list[dict[str, Any]] = []

    def sign(content: bytes) -> str:
        signed.append(json.loads(content))
        return "signature"

    found = deployed(a_host(), sign=sign)
    assert found.document["signature"] == "signature"
    assert (signed[-1]["seq"], signed[-1]["prev"]) == (found.seq, found.document["prev"])


def test_a_key_that_will_not_sign_leaves_an_unsigned_record_and_says_so() -> None:
    def refuse(content: bytes) -> str:
        raise SigningError("the agent is gone")

    told: list[Any] = []
    found = deployed(a_host(), sign=refuse, listeners=[told.append])
    assert "signature" not in found.document
    assert any("the agent is gone; the record is appended unsigned" in str(event) for event in told)


# ------------------------------------------------------------------ a rollout that left no record

LEFT = {
    "rollout": "lost", "who": "ann@laptop", "since": "2026-01-01T00:00:00+00:00", "action": "rollback", "parent": None,
    "operator": {"user": "ann", "host": "laptop"}, "reason": "too slow", "tool": TOOL, "step": "restart decode",
    "steps": [
        {"name": "write back", "began": "2026-01-01T00:00:01+00:00", "ended": "2026-01-01T00:00:03+00:00"},
        {"name": "restart decode", "began": "2026-01-01T00:00:04+00:00", "ended": None},
    ],
}  # fmt: skip


def verified(**fields: Any) -> list[Record]:
    fake = a_host(**fields)
    rollout.check(wired(fake), Options(skip_validation=True))
    return list(records_of(fake.chain))


def test_the_next_run_records_what_an_interrupted_one_was_doing_and_why() -> None:
    owed, ours = verified(inflight=LEFT)
    document = owed.document
    assert (owed.id, owed.action, owed.outcome) == ("lost", "rollback", "error")
    assert (document["operator"], document["reason"], document["tool"]) == (
        LEFT["operator"],
        "too slow",
        TOOL,
    )
    assert document["recorded_by"] == ours.id
    told = [(step["name"], step["outcome"], step["at_s"], step["duration_s"]) for step in owed.rows("steps")]
    assert told == [("write back", "pass", 1.0, 2.0), ("restart decode", "error", 4.0, 0.0)]
    assert (owed.text("started"), owed.text("ended")) == (
        "2026-01-01T00:00:00.000+00:00",
        "2026-01-01T00:00:04.000+00:00",
    )


def test_what_was_known_here_of_a_rollout_whose_link_was_lost_is_what_the_next_one_records(
    tmp_path: Path,
) -> None:
    class Losing(FakeHost):
        def call(self, name: str, /, *, deadline_s: float = 60.0, **args: Any) -> Any:
            if name == "unit_restart" or "lost" in self.calls:
                self.calls.append("lost")
                raise LinkLostError("the link was lost")
            return super().call(name, deadline_s=deadline_s, **args)

    here = Owed(tmp_path, "gpu1")
    fake = Losing(host=a_host().host)
    lost = rollout.deploy(wired(fake, owed=here, overrides={"A": "1"}), Options(skip_validation=True))
    kept = here.of(lost.rollout)
    assert kept is not None
    assert [file["path"] for file in kept["files"]]
    assert (lost.exit_code, kept["exit_code"], list(fake.chain)) == (7, 7, [])
    fake.__class__ = FakeHost  # type: ignore[assignment]
    fake.lock = None
    rollout.deploy(wired(fake, owed=here), Options(skip_validation=True))
    owed = records_of(fake.chain)[0].document
    same = ("id", "plan", "files", "overrides", "reason", "outcome", "release", "error")
    assert [owed.get(key) for key in same] == [kept.get(key) for key in same]
    assert owed["recorded_by"]


def test_what_somebody_is_at_work_on_is_left_to_them() -> None:
    (ours,) = verified(inflight=LEFT, lock={"who": "ann@laptop"})
    assert ours.action == "verify"


@pytest.mark.parametrize(
    "left",
    [
        {},
        {"rollout": None, "since": 7, "steps": "x"},
        {"rollout": "a", "since": "soon", "steps": [{"began": "x"}, 3]},
    ],
)
def test_a_damaged_book_is_recorded_as_far_as_it_goes(left: dict[str, Any]) -> None:
    owed, _ = verified(inflight=left)
    assert owed.outcome == "error"


# ------------------------------------------------------------------ what servers say


@pytest.mark.parametrize(
    "body", [b"", b"[]", b"null", b"<html>", b"[" * 100_000, b"\xff"], ids=["empty", "list", "null", "page", "deep", "bytes"]
)  # fmt: skip
def test_what_is_no_server_info_tells_nothing(body: bytes) -> None:
    assert servers.parse(body) == {}


def test_what_a_server_tells_is_bounded() -> None:
    told = servers.parse(json.dumps({f"n{number}": "x" * 9_000 for number in range(2_000)}).encode())
    assert len(told["arguments"]) == 500
    assert max(map(len, told["arguments"].values())) == 300
