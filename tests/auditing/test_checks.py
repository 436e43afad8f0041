"""What audit.verify finds, from bytes and from what others remember of them."""

from __future__ import annotations

import datetime
from typing import TYPE_CHECKING, Any

import pytest

from runbook.audit import directory, path_of
from runbook.audit.mirroring import head, mirror
from runbook.audit.record import records_of
from runbook.auditing import checks
from runbook.auditing.asked import asked
from runbook.auditing.fetching import read
from runbook.verdict import Outcome, is_warning
from tests.audit.chains import ChainWire, chain_of, record, three
from tests.building import host

if TYPE_CHECKING:
    from pathlib import Path

PASS, FAIL, INCONCLUSIVE = Outcome.PASS, Outcome.FAIL, Outcome.INCONCLUSIVE
NOW = datetime.datetime(2026, 11, 30, 8, tzinfo=datetime.UTC)


def heads(content: bytes) -> list[tuple[int, str]]:
    return [(one.seq, one.hash) for one in records_of(content)]


def test_a_sound_chain_passes_with_its_head_and_a_bad_one_names_the_record() -> None:
    assert checks.chain(three()).outcome is PASS
    assert "each of 3" in checks.chain(three()).message
    found = checks.chain(three().replace(b"gpu1", b"gpu2", 1))
    assert (found.outcome, found.evidence) == (FAIL, {"seq": 1, "kind": "edited"})


def test_a_chain_without_a_record_is_no_pass() -> None:
    assert checks.chain(b"").outcome is INCONCLUSIVE


def test_the_journal_shows_a_cut_end() -> None:
    content = three()
    cut = chain_of([record(1)])
    assert checks.journal(content, heads(content), "", copied=None).outcome is PASS
    found = checks.journal(content[: content.rindex(b"\n", 0, -1) + 1], heads(content), "", copied=None)
    assert (found.outcome, found.evidence["kind"]) == (FAIL, "truncated")
    assert checks.journal(cut, heads(content), "", copied=None).evidence["kind"] == "replaced"
    assert checks.journal(b"", heads(content), "", copied=None).evidence == {
        "seq": 1,
        "kind": "truncated",
    }


def test_a_journal_that_forgot_the_first_heads_still_holds_the_last() -> None:
    content = three()
    assert checks.journal(content, heads(content)[2:], "", copied=None).outcome is PASS


@pytest.mark.parametrize(("copied", "outcome"), [((3, "a" * 64), PASS), (None, INCONCLUSIVE)])
def test_a_silent_journal_is_a_pass_only_where_a_copy_here_knows_the_end(
    copied: tuple[int, str] | None, outcome: Outcome
) -> None:
    found = checks.journal(three(), [], "no program journalctl on this host", copied=copied)
    assert found.outcome is outcome
    assert "no program journalctl" in found.message
    assert is_warning(found) is (copied is not None)


def test_the_note_beside_the_copy_shows_that_it_was_cut() -> None:
    content = three()
    last = heads(content)[-1]
    assert checks.note(content, last).outcome is PASS
    assert checks.note(chain_of([record(1)]), last).evidence["kind"] == "truncated"
    assert checks.note(content, None).outcome is INCONCLUSIVE


# ------------------------------------------------------------------ with the host


def fetched(content: bytes, project: Path) -> list[Outcome]:
    """The findings about the copy here after reading the host's chain."""
    wanted = asked("audit.verify", host=["gpu1"], directory=project)
    before = head(path_of(project, "gpu1"))
    found = read(ChainWire(content), host(), wanted)  # type: ignore[arg-type]
    assert found.chain == content
    asides = checks.aside(content, path_of(project, "gpu1"))
    return [checks.mirrored(found.mirrored, before).outcome, *(one.outcome for one in asides)]


def test_a_first_look_makes_the_copy_and_a_second_finds_them_equal(tmp_path: Path) -> None:
    assert fetched(three(), tmp_path) == [PASS]
    assert fetched(chain_of([record(4)], three()), tmp_path) == [PASS]


class Busy(ChainWire):
    """A host on which another run appends its record between any two questions."""

    def call(self, name: str, /, *, deadline_s: float = 60.0, **args: Any) -> Any:
        answer = super().call(name, deadline_s=deadline_s, **args)
        self.content = chain_of([record(len(self.content))], self.content)
        self.heads = heads(self.content)
        return answer


def test_a_record_that_another_run_appends_meanwhile_is_no_cut_end(tmp_path: Path) -> None:
    wire = Busy(three(), heads(three()))
    found = read(wire, host(), asked("audit.verify", host=["gpu1"], directory=tmp_path))  # type: ignore[arg-type]
    assert checks.chain(found.chain).outcome is PASS
    assert checks.journal(found.chain, found.heads, found.silent, copied=None).outcome is PASS


def test_a_replaced_history_fails_now_and_until_a_person_settles_it(tmp_path: Path) -> None:
    fetched(three(), tmp_path)
    other = chain_of([record(8), record(9)])
    assert fetched(other, tmp_path) == [FAIL, FAIL]
    assert fetched(other, tmp_path) == [PASS, FAIL]
    for aside in directory(tmp_path).glob("*.aside"):
        aside.unlink()
    assert fetched(other, tmp_path) == [PASS]


def test_a_copy_that_was_damaged_here_fails_once_and_is_no_lost_history(tmp_path: Path) -> None:
    content = three()
    fetched(content, tmp_path)
    path_of(tmp_path, "gpu1").write_bytes(content.replace(b"laptop", b"desktop"))
    assert fetched(content, tmp_path) == [FAIL]
    assert fetched(content, tmp_path) == [PASS]


def test_a_note_of_a_lost_record_names_it(tmp_path: Path) -> None:
    mirror(ChainWire(three()), host(), directory(tmp_path), NOW)  # type: ignore[arg-type]
    mirror(ChainWire(chain_of([record(8)])), host(), directory(tmp_path), NOW)  # type: ignore[arg-type]
    (found,) = checks.aside(chain_of([record(8)]), path_of(tmp_path, "gpu1"))
    assert "record #1 20261130T035111-14c6 was seen here" in found.message
    assert found.evidence == {"records": 3}


def test_a_line_of_allowed_signers_that_names_no_key_is_warned_of_signed_or_not(tmp_path: Path) -> None:
    garbage = tmp_path / "allowed_signers"
    garbage.write_text("# ours\nann gives her key later\n")
    (found,) = checks.signatures(three(), garbage, required=False)
    assert (found.check, found.outcome, found.evidence["severity"]) == ("audit.signers", PASS, "warn")
    assert "no key is named in line 2" in found.message
    garbage.write_text("ann ssh-ed25519 AAAAC3NzaC1lZDI1NTE5\n")
    assert list(checks.signatures(three(), garbage, required=False)) == []
