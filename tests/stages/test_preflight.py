from __future__ import annotations

import dataclasses
import json
from typing import Any

import pytest

from runbook.events import Event, Note
from runbook.model import Command, Sessions
from runbook.options import Options
from runbook.stages import engine
from runbook.tunnel import Response
from tests.building import host
from tests.fakehost import FakeHost, sessions_result
from tests.test_rollout import deploy, rollback

MODELS = {"data": [{"id": "deepseek-v4"}, {"id": "other"}]}
ORPHAN = {"pid": 77, "unit": None, "parent": 1, "after_boot_s": 5.0, "cmdline": "sglang::scheduler_TP0"}
SESSIONS = Sessions("final80", 80, 3, 350, 2000, 260.0)


def refused(fake: FakeHost, **fields: Any) -> str:
    """What a deploy that is refused before anything is touched says."""
    before = dict(fake.files)
    story = deploy(fake, **fields)
    assert (story.exit_code, fake.files) == (2, before)
    assert not {"files_write", "release_save", "unit_restart", "inflight"} & set(fake.calls)
    return str(story.error)


@pytest.mark.parametrize(
    ("status", "says"),
    [(401, "key refused"), (403, "key refused"), (404, "model or path unknown"), (400, "request refused")],
)
def test_a_chat_that_is_refused_now_is_a_fault_of_the_host_file_and_the_models_served_are_listed(
    status: int, says: str
) -> None:
    fake = FakeHost(chat=lambda: Response(status, b'{"error": "no"}', 0.1))
    fake.pages["http://127.0.0.1:30001/v1/models"] = json.dumps(MODELS).encode()
    message = refused(fake)
    assert (
        f"asked for model 'deepseek-v4-flash', http://127.0.0.1:30001 answers HTTP {status}: {says}"
        in message
    )
    assert "it serves 'deepseek-v4', 'other'; mend hosts/gpu1.yml first" in message


@pytest.mark.parametrize("listed", [b"", b"[]", b'{"data": 3}', b'{"data": [1]}'])
def test_a_list_of_models_that_is_none_is_left_out(listed: bytes) -> None:
    fake = FakeHost(chat=lambda: Response(404, b"", 0.1))
    fake.pages["http://127.0.0.1:30001/v1/models"] = listed
    assert "it serves" not in refused(fake)


def test_a_chat_that_fails_otherwise_only_means_that_it_does_not_serve_now() -> None:
    assert deploy(FakeHost(chat=lambda: Response(503, b"", 0.1))).error is not None


@pytest.mark.parametrize(
    ("python", "runs", "options", "code"),
    [
        ("3.9.2", (SESSIONS,), Options(), 2),
        ("3.9.2", (SESSIONS,), Options(skip_validation=True), 0),
        ("3.9.2", (Command("own", "true"),), Options(skip_validation=True), 0),
        ("3.10.0", (SESSIONS,), Options(), 0),
        ("3.13.1", (SESSIONS,), Options(), 0),
        ("", (SESSIONS,), Options(), 0),
    ],
)
def test_the_load_needs_a_python_of_3_10(
    python: str, runs: tuple[Any, ...], options: Options, code: int
) -> None:
    fake = FakeHost(host=host(validations=runs), python=python, load=sessions_result)
    story = deploy(fake, options=options)
    assert story.exit_code == code
    if code:
        assert "`python3` is Python 3.9.2, and the load needs 3.10" in str(story.error)


def test_an_orphan_on_the_port_of_a_unit_that_is_down_is_named_before_anything_is_touched() -> None:
    fake = FakeHost(listeners={30002: [ORPHAN]})
    fake.units["decode.service"].active = "failed"
    assert "decode.service is down and its port 30002 is held by pid 77 of no unit, an orphan" in refused(
        fake
    )


def test_a_unit_that_runs_holds_its_port_by_right() -> None:
    assert deploy(FakeHost(listeners={30002: [ORPHAN]})).exit_code == 0


def test_what_the_driver_has_against_the_gpus_is_said_and_stops_nothing() -> None:
    told: list[Event] = []
    gpu = {"index": 3, "name": "H20", "driver": "580", "ecc_uncorrected": 2}
    xid = "2026-11-30 kernel: NVRM: Xid (PCI:0000:3b:00): 79, GPU has fallen off the bus."
    fake = FakeHost(gpus={"gpus": [gpu], "processes": [], "detail": ""}, xids=["older", xid])
    story = deploy(fake, listeners=[told.append])
    assert story.exit_code == 0
    assert len(story.document()["warnings"]) == 2
    notes = [event.text for event in told if isinstance(event, Note)]
    assert "GPU 3 (H20) has 2 uncorrected ECC errors" in notes
    assert f"2 Xid errors since this boot, the last: {xid}" in notes


# ------------------------------------------------------------------ the engine


def at(version: str, revision: str = "a" * 40) -> dict[str, Any]:
    checkout = {"path": "/root/sglang", "revision": revision}
    return {
        "decode": {
            "packages": {"sglang": version, "torch": "2.9"},
            "checkout": checkout,
            "program": "/usr/bin/python3",
        }
    }


def notes_of_a_rollback(then: dict[str, Any], now: dict[str, Any]) -> list[str]:
    fake, told = FakeHost(engine=then), list[Event]()
    deploy(fake)
    fake.engine = now
    assert rollback(fake, listeners=[told.append]).exit_code == 0
    return [event.text for event in told if isinstance(event, Note)]


def test_a_release_records_the_engine_and_a_rollback_warns_when_it_is_another_now() -> None:
    (warning,) = (
        note for note in notes_of_a_rollback(at("0.5.22"), at("0.5.23", "b" * 40)) if "engine" in note
    )
    assert "files alone do not bring it back" in warning
    assert "decode.service: sglang 0.5.22, now 0.5.23" in warning
    assert f"decode.service: /root/sglang at {'a' * 12}, now {'b' * 12}" in warning


@pytest.mark.parametrize("now", [at("0.5.22"), {}])
def test_the_same_engine_or_one_nobody_can_tell_is_no_warning(now: dict[str, Any]) -> None:
    assert not any("engine" in note for note in notes_of_a_rollback(at("0.5.22"), now))


@pytest.mark.parametrize(
    "damaged", [{}, {"units": 3}, {"units": {"decode.service": {"packages": []}}}, {"driver": None}]
)
def test_a_damaged_record_of_an_engine_is_no_difference(damaged: dict[str, Any]) -> None:
    now = {"units": {"decode.service": at("1")["decode"]}, "driver": "580"}
    assert engine.changed(damaged, now) == engine.changed(now, damaged) == []


def test_another_driver_is_told() -> None:
    assert engine.changed({"driver": "570"}, {"driver": "580"}) == ["NVIDIA driver 570, now 580"]


def test_a_masked_unit_is_refused_before_anything_is_touched() -> None:
    fake = FakeHost()
    decode = fake.units["decode.service"]
    masked = type(
        "Masked",
        (type(decode),),
        {"properties": lambda self: {"LoadState": "masked", "ActiveState": "inactive"}},
    )
    fake.units["decode.service"] = masked(
        **{f.name: getattr(decode, f.name) for f in dataclasses.fields(decode)}
    )
    assert "decode.service is masked; `systemctl unmask` lets it start" in refused(fake)
