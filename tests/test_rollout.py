from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from runbook import looking, rollout
from runbook.errors import InterruptedByOperator, LinkLostError, PreflightError
from runbook.events import Event, Note, Run, StepStarted
from runbook.model import Policy, Sessions
from runbook.options import Options
from runbook.work import Work
from tests.building import DECODE, OVERLAP, TOPK, host
from tests.fakehost import FakeHost, RunningUnit, sessions_result

if TYPE_CHECKING:
    from runbook.story import Story

VALIDATIONS = (Sessions("final80", 80, 3, 350, 2000, 260.0), Sessions("final60", 60, 4, 300, 2500, 240.0))


def clean(argv: list[str]) -> dict[str, Any]:
    return sessions_result(argv)


def corrupt(argv: list[str]) -> dict[str, Any]:
    return sessions_result(argv, corrupt=12)


def a_host(**fields: Any) -> FakeHost:
    defaults: dict[str, Any] = {"host": host(validations=VALIDATIONS), "load": clean}
    return FakeHost(**(defaults | fields))


def work_on(
    fake: FakeHost,
    *,
    listeners: Any = (),
    checkpoint: Any = lambda: None,
    confirm: bool = True,
    **fields: Any,
) -> Work:
    return Work(
        host=fields.pop("wanted", fake.host),
        run=Run(listeners, clock=fake.clock, checkpoint=checkpoint),
        wire=fake,  # type: ignore[arg-type]
        tunnel=fake,  # type: ignore[arg-type]
        rollout=f"rollout-{len(fake.audit)}",
        operator={"user": "ann", "host": "laptop"},
        confirm=lambda question: confirm,
        checkpoint=checkpoint,
        sleep=fake.clock.sleep,
        clock=fake.clock,
        now=fake.clock.utc,
        **fields,
    )


def deploy(fake: FakeHost, **fields: Any) -> Story:
    options = fields.pop("options", Options())
    fake.lock = None
    return rollout.deploy(work_on(fake, **fields), options)


def restarted(fake: FakeHost) -> int:
    return fake.calls.count("unit_restart")


def test_a_deploy_edits_restarts_validates_and_proves_its_release() -> None:
    fake = a_host()
    story = deploy(fake)
    assert (story.outcome.value, story.exit_code, story.error) == ("pass", 0, None)
    assert fake.units["decode.service"].environ == {OVERLAP: "0"}
    assert fake.releases[story.release or ""]["verdict"] == "proven"
    assert fake.current == story.release
    assert fake.inflight is None
    assert [run["name"] for run in story.measured.validations] == ["final80", "final60"]
    assert len(fake.audit) == 1


def test_the_state_before_is_kept_as_an_adopted_release() -> None:
    fake = a_host()
    before = dict(fake.files)
    story = deploy(fake)
    parent = fake.releases[story.release or ""]["parent"]
    assert fake.releases[parent]["verdict"] == "adopted"
    assert fake.stored[parent] == before


def test_prefill_is_restarted_before_decode() -> None:
    story = deploy(a_host())
    names = [step.name for step in story.steps]
    assert names.index("restart prefill") < names.index("restart decode") < names.index("ready")


def test_a_second_deploy_plans_nothing_restarts_nothing_and_makes_no_release() -> None:
    fake = a_host()
    deploy(fake)
    releases, restarts = set(fake.releases), restarted(fake)
    story = deploy(fake)
    assert story.plan is not None
    assert story.plan.empty
    assert (story.exit_code, set(fake.releases), restarted(fake)) == (0, releases, restarts)
    assert [run["name"] for run in story.measured.validations] == ["final80", "final60"]


def test_a_dry_run_only_reads() -> None:
    fake = a_host()
    story = deploy(fake, options=Options(dry_run=True))
    assert story.exit_code == 0
    assert fake.calls == ["observe", "audit_read"]


def test_an_operator_who_says_no_changes_nothing_and_exits_130() -> None:
    fake = a_host()
    before = dict(fake.files)
    story = deploy(fake, confirm=False)
    assert (story.exit_code, fake.files) == (130, before)
    assert "lock" not in fake.calls


def test_hard_corruption_rolls_back_by_itself_to_the_very_bytes_before() -> None:
    fake = a_host()
    deploy(fake)
    proven, good = fake.current, dict(fake.files)
    fake.load = corrupt
    wrong = fake.host._replace(
        flags=tuple(f._replace(value="1") if f.name == OVERLAP else f for f in fake.host.flags),
    )
    story = deploy(fake, wanted=wrong)
    assert (story.exit_code, story.rolled_back_to, fake.current) == (1, proven, proven)
    assert fake.files == good
    assert fake.units["decode.service"].environ == {OVERLAP: "0"}
    assert fake.releases[story.release or ""]["verdict"] == "failed"


def test_the_first_validation_that_fails_is_the_last_that_runs() -> None:
    fake = a_host(load=corrupt)
    assert [run["name"] for run in deploy(fake).measured.validations] == ["final80"]


def test_an_inconclusive_validation_keeps_the_release_unproven_and_exits_3() -> None:
    fake = a_host(load=lambda argv: sessions_result(argv, infra=80))
    story = deploy(fake)
    assert (story.exit_code, story.rolled_back_to) == (3, None)
    assert fake.releases[story.release or ""]["verdict"] == "unproven"


def test_the_policy_decides_what_corruption_does() -> None:
    fake = a_host(load=corrupt, host=host(validations=VALIDATIONS, policy=Policy(on_corrupt="keep")))
    story = deploy(fake)
    assert (story.exit_code, story.rolled_back_to) == (1, None)
    assert fake.current == story.release


def test_a_unit_that_fails_after_its_restart_rolls_back_with_the_journal_as_evidence() -> None:
    def fail_with_the_fix(unit: RunningUnit) -> None:
        if OVERLAP in unit.environ:
            unit.active = "failed"

    fake = a_host(behave=fail_with_the_fix)
    before = dict(fake.files)
    story = deploy(fake)
    assert (story.exit_code, fake.files) == (1, before)
    assert any("Main process exited" in str(finding.evidence) for finding in story.findings)


def test_a_unit_that_fails_says_its_last_words_in_the_message() -> None:
    log = "2026-11-30T19:14:05+0000 gpu1 serve.sh[70]: error: unrecognized arguments: --api-key ***"
    fake = a_host(behave=lambda unit: setattr(unit, "active", "failed"))
    fake._journal = lambda unit, **_: {"text": log}  # type: ignore[method-assign]
    story = deploy(fake)
    (found,) = (finding for finding in story.findings if finding.check == "unit")
    assert found.message.endswith("; its last words: error: unrecognized arguments: --api-key ***")


def test_a_rollback_that_does_not_come_up_either_needs_a_person() -> None:
    def always_fail(unit: RunningUnit) -> None:
        unit.active = "failed"

    story = deploy(a_host(behave=always_fail))
    assert story.exit_code == 4


def test_a_service_that_was_down_before_is_not_rolled_back_by_itself() -> None:
    fake = a_host(behave=lambda unit: setattr(unit, "active", "failed"))
    fake.units["decode.service"].active = "failed"
    story = deploy(fake)
    assert (story.exit_code, story.rolled_back_to) == (1, None)


def test_a_unit_that_crashes_under_load_fails_the_deploy() -> None:
    fake = a_host()

    def load(argv: list[str]) -> dict[str, Any]:
        fake.units["decode.service"].restarts += 1
        return sessions_result(argv)

    fake.load = load
    story = deploy(fake)
    assert story.exit_code == 1
    assert "NRestarts was 0, is 1" in str(story.error)


def test_a_held_lock_ends_the_deploy_before_anything_is_written() -> None:
    fake = a_host()
    fake.lock = {"who": "bob"}
    before = dict(fake.files)
    story = rollout.deploy(work_on(fake), Options())
    assert (story.exit_code, fake.files) == (6, before)
    assert "files_write" not in fake.calls


def test_a_file_that_changes_while_the_operator_thinks_is_not_overwritten() -> None:
    fake = a_host()

    def touch(question: str) -> bool:
        fake.files[DECODE] += b"# by hand\n"
        return True

    story = rollout.deploy(work_on(fake)._replace(confirm=touch), Options())
    assert story.exit_code == 2
    assert "files_write" not in fake.calls


def test_skipping_validation_is_no_proof() -> None:
    fake = a_host()
    story = deploy(fake, options=Options(skip_validation=True))
    assert (story.exit_code, story.measured.validations) == (0, [])
    assert fake.releases[story.release or ""]["verdict"] == "unproven"


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ({}, "hosts/gpu1.yml declares no validation and no bench"),
        (
            {"validations": VALIDATIONS, "traffic": "live"},
            "the host has live traffic, and --load was not given",
        ),
    ],
)
def test_where_nothing_is_measured_the_deploy_passes_and_its_release_is_unproven_and_it_says_why(
    fields: dict[str, Any], why: str
) -> None:
    fake = a_host(host=host(**fields))
    story = deploy(fake)
    assert (story.exit_code, story.document()["unvalidated"]) == (0, f"neither validated nor benched: {why}")
    assert fake.releases[story.release or ""]["verdict"] == "unproven"
    verdict = next(step for step in story.steps if step.name == "verdict")
    assert verdict.detail == f"release {story.release} is unproven: neither validated nor benched: {why}"


def notes_of_a_verify(fake: FakeHost) -> list[str]:
    told: list[Any] = []
    fake.mode, mode, fake.lock = "running", fake.mode, None
    rollout.check(work_on(fake, listeners=[told.append]), Options())
    fake.mode = mode
    return [event.text for event in told if isinstance(event, Note)]


def test_a_verify_of_a_host_that_declares_no_measure_says_that_there_was_none() -> None:
    said = notes_of_a_verify(a_host(host=host()))
    assert "neither validated nor benched: hosts/gpu1.yml declares no validation and no bench" in said


def test_a_verify_that_passes_on_an_unproven_release_says_that_a_deploy_proves_it_and_it_does() -> None:
    fake = a_host(load=lambda argv: sessions_result(argv, infra=80))
    unproven = deploy(fake)
    release = fake.releases[unproven.release or ""]
    assert (unproven.exit_code, release["verdict"]) == (3, "unproven")
    assert not any("stays unproven" in note for note in notes_of_a_verify(fake))
    fake.load = clean
    hint = f"release {release['id']} stays unproven: verify writes no verdict, a deploy with nothing to change does"
    assert hint in notes_of_a_verify(fake)
    assert release["verdict"] == "unproven"
    assert (deploy(fake).exit_code, release["verdict"]) == (0, "proven")
    assert not any("stays unproven" in note for note in notes_of_a_verify(fake))


def test_a_deploy_that_changes_and_measures_nothing_leaves_an_earlier_proof_as_it_was() -> None:
    fake = a_host()
    proven = fake.releases[deploy(fake).release or ""]
    assert deploy(fake, options=Options(skip_validation=True)).exit_code == 0
    assert (proven["verdict"], len(proven["validations"])) == ("proven", 2)


def test_an_inconclusive_run_takes_no_earlier_proof_back_and_a_corrupt_one_does() -> None:
    fake = a_host()
    proven = fake.releases[deploy(fake).release or ""]
    fake.load = lambda argv: sessions_result(argv, infra=80)
    assert deploy(fake).exit_code == 3
    assert (proven["verdict"], len(proven["validations"])) == ("proven", 2)
    fake.load = corrupt
    assert deploy(fake).exit_code == 1
    assert proven["verdict"] == "failed"


def test_ctrl_c_in_a_deploy_that_changes_nothing_leaves_an_earlier_proof_as_it_was() -> None:
    fake = a_host()
    proven = fake.releases[deploy(fake).release or ""]
    operator = StopAt("StepEnded ready")
    assert deploy(fake, listeners=[operator], checkpoint=operator.checkpoint).exit_code == 130
    assert (proven["verdict"], len(proven["validations"])) == ("proven", 2)


def test_live_traffic_is_not_loaded_without_being_asked() -> None:
    live = host(validations=VALIDATIONS, traffic="live")
    assert deploy(a_host(host=live)).measured.validations == []
    assert len(deploy(a_host(host=live), options=Options(load=True)).measured.validations) == 2


def check(fake: FakeHost) -> Story:
    fake.mode, fake.lock = "running", None
    return rollout.check(work_on(fake), Options())


def test_verify_names_the_drift_and_exits_5_when_all_else_is_well() -> None:
    fake = a_host()
    story = check(fake)
    assert story.exit_code == 5
    bad = [finding.message for finding in story.findings if finding.outcome.value == "fail"]
    assert any(OVERLAP in message for message in bad)
    assert sum(TOPK in message for message in bad) == 2
    assert "files_write" not in fake.calls


def test_verify_passes_after_a_deploy() -> None:
    fake = a_host()
    deploy(fake)
    assert check(fake).exit_code == 0


def test_verify_of_a_dead_worker_sends_no_chat_and_no_load() -> None:
    fake = a_host()
    deploy(fake)
    fake.units["decode.service"].active = "failed"
    story = check(fake)
    assert story.exit_code == 1
    assert story.measured.validations == []
    assert not any(finding.check == "ready" for finding in story.findings)


def rollback(fake: FakeHost, options: Options = Options(), **fields: Any) -> Story:  # noqa: B008
    fake.lock = None
    return rollout.rollback(work_on(fake, **fields), options)


def test_a_rollback_brings_the_old_bytes_and_the_old_environment_back_without_load() -> None:
    fake = a_host()
    before = dict(fake.files)
    deploy(fake)
    story = rollback(fake)
    assert (story.exit_code, fake.files, fake.inflight) == (0, before, None)
    assert fake.units["decode.service"].environ == {TOPK: "0"}
    assert story.measured.validations == []


def test_a_rollback_may_be_rolled_back_to_the_newer_release_by_name() -> None:
    fake = a_host()
    newer = deploy(fake).release
    after = dict(fake.files)
    rollback(fake)
    assert rollback(fake, Options(to=newer)).exit_code == 0
    assert fake.files == after


def test_a_dry_rollback_shows_the_way_back_and_asks_changes_and_records_nothing() -> None:
    fake = a_host()
    deploy(fake)
    after, records = dict(fake.files), len(fake.audit)
    fake.mode = "reading"
    story = rollback(fake, Options(dry_run=True), confirm=False)
    assert (story.exit_code, story.rolled_back_to, fake.files, len(fake.audit)) == (0, None, after, records)
    assert story.plan is not None
    assert DECODE in [change.path for change in story.plan.changes]


@pytest.mark.parametrize("to", ["nosuch", ""])
def test_a_release_that_is_misspelt_was_no_rollback_and_one_without_parent_was(to: str) -> None:
    fake = a_host()
    story = rollback(fake, Options(to=to or None))
    assert story.exit_code == 2
    assert len(fake.audit) == (0 if to else 1)


def test_a_rollback_over_hand_edits_is_refused_and_forced_saves_them_first() -> None:
    fake = a_host()
    deploy(fake)
    fake.files[DECODE] += b"# by hand\n"
    edited = fake.files[DECODE]
    refused = rollback(fake)
    assert refused.exit_code == 2
    assert DECODE in str(refused.error)
    assert rollback(fake, Options(force=True)).exit_code == 0
    assert any(files.get(DECODE) == edited for files in fake.stored.values())


def test_a_rollback_works_when_the_script_is_gone() -> None:
    fake = a_host()
    before = dict(fake.files)
    deploy(fake)
    del fake.files[DECODE]
    assert rollback(fake, Options(force=True)).exit_code == 0
    assert fake.files == before


class StopAt:
    """An operator who presses Ctrl-C once when a step of this name begins or ends."""

    def __init__(self, event: str) -> None:
        self.event, self.asked, self.raised = event, False, False

    def __call__(self, event: Event) -> None:
        if f"{type(event).__name__} {getattr(event, 'name', '')}" == self.event:
            self.asked = True

    def checkpoint(self) -> None:
        if self.asked and not self.raised:
            self.raised = True
            raise InterruptedByOperator("stopped by the operator")


def moments(fake: FakeHost) -> list[str]:
    """Every start and end of a step in a whole deploy, read off the event stream."""
    told: list[str] = []
    deploy(
        fake, listeners=[lambda event: told.append(f"{type(event).__name__} {getattr(event, 'name', '')}")]
    )
    return [moment for moment in told if moment.startswith("Step")]


@pytest.mark.parametrize("moment", moments(a_host()))
def test_ctrl_c_at_any_moment_leaves_old_or_new_bytes_and_the_next_deploy_ends_right(moment: str) -> None:
    fake = a_host()
    old, new = dict(fake.files), dict(a_deployed().files)
    operator = StopAt(moment)
    story = deploy(fake, listeners=[operator], checkpoint=operator.checkpoint)
    assert story.exit_code in (130, 0)
    assert fake.files in (old, new)
    assert len(fake.audit) == 1
    assert deploy(fake).exit_code == 0
    assert fake.files == new
    assert fake.inflight is None


def test_an_interrupted_deploy_that_the_operator_took_back_leaves_nothing_to_settle() -> None:
    fake = a_host()
    old = dict(fake.files)
    operator = StopAt("StepStarted validate final80")
    steps: list[str] = []

    def offer(question: str) -> bool:
        steps.append(fake.lock["step"])
        return True

    story = deploy(fake, listeners=[operator], checkpoint=operator.checkpoint, offer=offer)
    assert steps == ["asking whether to roll back"], "whoever finds the host locked is told why it still is"
    assert (story.exit_code, story.rolled_back_to) == (130, story.extra["parent"])
    assert fake.files == old
    assert fake.inflight is None


def test_a_second_ctrl_c_leaves_at_once_and_its_document_tells_how_far_it_came() -> None:
    def leave(event: Event) -> None:
        if isinstance(event, StepStarted) and event.name == "validate final80":
            raise KeyboardInterrupt

    fake = a_host()
    story = deploy(fake, listeners=[leave])
    document = story.document()
    assert (document["exit_code"], document["release"]) == (130, fake.current)
    assert document["plan"]["changes"]
    assert document["audit"]["seq"] == len(fake.audit)
    assert fake.inflight is not None


def a_deployed() -> FakeHost:
    fake = a_host()
    deploy(fake)
    return fake


def test_the_next_deploy_records_what_an_interrupted_one_could_not() -> None:
    fake = a_host(inflight={"rollout": "lost", "who": "ann@laptop", "since": "2026-01-01T00:00:00+00:00",
                            "step": "write", "parent": None})  # fmt: skip
    deploy(fake)
    owed, ours = fake.audit
    assert (owed["id"], owed["action"], owed["outcome"], owed["operator"]) == (
        "lost",
        "deploy",
        "error",
        {"who": "ann@laptop"},
    )
    assert owed["recorded_by"] == ours["id"]
    assert "write" in owed["error"]


def test_an_interrupted_rollout_that_wrote_its_own_record_is_not_recorded_twice() -> None:
    fake = a_host(audit=[{"id": "stopped"}], inflight={"rollout": "stopped", "step": "write back"})
    deploy(fake)
    assert [record["id"] for record in fake.audit] == ["stopped", "rollout-1"]


DROP_IN = "/etc/systemd/system/decode.service.d/flags.conf"


def with_a_drop_in(*, declared: bool) -> FakeHost:
    """A host whose decode unit has the stale flag in a drop-in as well."""
    units = tuple(
        unit._replace(drop_ins=(DROP_IN,)) if declared and unit.role == "decode" else unit
        for unit in host().units
    )
    return a_host(
        host=host(validations=VALIDATIONS, units=units),
        files={DROP_IN: f"[Service]\nEnvironment={TOPK}=0 J=1\n".encode()},
        drop_ins={"decode": (DROP_IN,)},
    )


def test_a_stale_flag_in_an_undeclared_drop_in_refuses_the_deploy_before_anything_is_touched() -> None:
    fake = with_a_drop_in(declared=False)
    before = dict(fake.files)
    story = deploy(fake)
    assert (story.exit_code, fake.files) == (2, before)
    assert f"{DROP_IN}:2" in str(story.error)
    assert "lock" not in fake.calls


def test_a_declared_drop_in_is_edited_reloaded_before_the_restart_and_kept_in_the_release() -> None:
    fake = with_a_drop_in(declared=True)
    story = deploy(fake)
    assert (story.exit_code, fake.files[DROP_IN]) == (0, b"[Service]\nEnvironment=J=1\n")
    assert fake.units["decode.service"].environ == {OVERLAP: "0", "J": "1"}
    calls = [name for name in fake.calls if name in ("files_write", "daemon_reload", "unit_restart")]
    assert calls == ["files_write", "daemon_reload", "unit_restart", "unit_restart"]
    assert fake.stored[story.release or ""][DROP_IN] == b"[Service]\nEnvironment=J=1\n"
    assert deploy(fake).plan.empty  # type: ignore[union-attr]


def test_a_rollback_puts_a_drop_in_back_and_reloads_before_the_restart() -> None:
    fake = with_a_drop_in(declared=True)
    before = dict(fake.files)
    deploy(fake)
    fake.calls.clear()
    fake.lock = None
    story = rollout.rollback(work_on(fake), Options())
    assert (story.exit_code, fake.files) == (0, before)
    assert fake.units["decode.service"].environ == {TOPK: "0", "J": "1"}
    assert (
        fake.calls.index("files_write") < fake.calls.index("daemon_reload") < fake.calls.index("unit_restart")
    )


def test_a_file_declared_since_the_last_release_is_saved_before_it_is_changed() -> None:
    fake = with_a_drop_in(declared=True)
    declared = fake.host
    fake.files[DROP_IN] = b"[Service]\nEnvironment=J=1\n"
    fake.call("daemon_reload")
    first = deploy(fake, wanted=host(validations=VALIDATIONS))
    fake.files[DROP_IN] = f"[Service]\nEnvironment={TOPK}=0\n".encode()
    fake.lock = None
    second = deploy(fake, wanted=declared)
    assert (first.exit_code, second.exit_code) == (0, 0)
    saved = fake.releases[fake.releases[second.release or ""]["parent"]]
    assert (saved["verdict"], saved["parent"]) == ("adopted", first.release)
    assert fake.stored[saved["id"]][DROP_IN] == f"[Service]\nEnvironment={TOPK}=0\n".encode()


def test_a_file_nobody_declares_any_more_is_put_back_all_the_same() -> None:
    fake = with_a_drop_in(declared=True)
    before = dict(fake.files)
    deploy(fake)
    fake.lock = None
    story = rollout.rollback(work_on(fake, wanted=host(validations=VALIDATIONS)), Options())
    assert (story.exit_code, fake.files) == (0, before)


def test_an_edited_drop_in_changed_by_another_hand_stops_a_rollback() -> None:
    fake = with_a_drop_in(declared=True)
    deploy(fake)
    fake.files[DROP_IN] += b"# mine\n"
    fake.lock = None
    story = rollout.rollback(work_on(fake), Options())
    assert story.exit_code == 2
    assert DROP_IN in str(story.error)


def test_only_what_a_shell_reads_is_checked_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    fake = with_a_drop_in(declared=True)
    sent: list[Any] = []
    monkeypatch.setattr(fake, "_files_write", lambda changes: sent.extend(changes))
    deploy(fake)
    assert {change["path"]: change["check"] for change in sent} == {
        **dict.fromkeys(fake.host.scripts, "bash"),
        DROP_IN: None,
    }


def test_a_verify_tells_the_drop_in_in_its_drift_and_why_a_deploy_would_be_refused() -> None:
    fake = with_a_drop_in(declared=False)
    story = rollout.check(work_on(fake), Options(skip_validation=True))
    drift = [finding for finding in story.findings if finding.check == "drift"]
    told = [finding for finding in drift if finding.evidence.get("places")]
    assert [place["kind"] for place in told[0].evidence["places"]] == ["drop-in", "script"]
    assert f"drop-in {DROP_IN}:2 sets '0'" in told[0].message
    assert "a deploy would be refused" in drift[-1].message
    assert story.exit_code == 5


def test_plan_and_deploy_show_the_very_same_plan() -> None:
    shown = looking.plan(work_on(with_a_drop_in(declared=True)), Options()).document()["plan"]
    assert deploy(with_a_drop_in(declared=True)).document()["plan"] == shown


class WithoutAudit(FakeHost):
    """A host whose audit can neither be read nor appended to."""

    def _audit_place(self, state: str) -> dict[str, Any]:
        raise PreflightError("audit_place: Is a directory")

    def _audit_append(self, *args: Any, **more: Any) -> dict[str, Any]:
        raise PreflightError("audit_append: Is a directory")


def test_a_deploy_whose_record_cannot_be_kept_changes_nothing() -> None:
    fake = WithoutAudit(host=host(validations=VALIDATIONS), load=clean)
    before = dict(fake.files)
    story = deploy(fake)
    assert story.exit_code == 2
    assert "its audit cannot be kept (audit_place: Is a directory); nothing was changed" in str(story.error)
    assert fake.files == before
    assert restarted(fake) == 0


def test_a_rollback_goes_back_although_its_record_cannot_be_kept_and_says_so() -> None:
    fake = a_host()
    old = dict(fake.files)
    deploy(fake)
    fake.__class__ = WithoutAudit
    story = rollback(fake)
    assert fake.files == old
    assert story.exit_code == 2
    assert str(story.error) == "the audit record is not on the host: audit_append: Is a directory"


@pytest.mark.parametrize(
    "call", ["machine", "observe", "lock", "audit_place", "gpus", "inflight", "files_write"]
)
def test_a_link_lost_at_any_call_is_a_lost_link(call: str) -> None:
    class Losing(FakeHost):
        def call(self, name: str, /, *, deadline_s: float = 60.0, **args: Any) -> Any:
            if name == call or "lost" in self.calls:
                self.calls.append("lost")
                raise LinkLostError(f"lost during {name}")
            return super().call(name, deadline_s=deadline_s, **args)

    fake = Losing(host=host(validations=VALIDATIONS), load=clean)
    error: BaseException | None
    try:
        error = deploy(fake).error
    except LinkLostError as raised:
        error = raised
    assert f"lost during {call}" in str(error)
    assert isinstance(error, LinkLostError)
