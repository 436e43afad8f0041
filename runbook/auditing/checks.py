"""The findings of audit.verify, each from bytes and what somebody else remembers of them."""

from __future__ import annotations

import collections
from typing import TYPE_CHECKING

from runbook import audit, shipped
from runbook.audit import signing
from runbook.audit.chain import Head, beyond, first_defect, is_sound
from runbook.audit.mirroring import set_aside
from runbook.audit.record import records_of
from runbook.audit.signing import SigningError
from runbook.verdict import Finding, Outcome

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from runbook.audit.mirroring import Mirrored
    from runbook.audit.record import Record
    from runbook.auditing.asked import Asked

_WARNING = {"severity": "warn"}


def chain(content: bytes) -> Finding:
    """Every byte is as it was written, every record in its place. A chain without a record proves nothing."""
    check = "audit.chain"
    if (defect := first_defect(content)) is not None:
        evidence = {"seq": defect.seq, "kind": defect.kind}
        return Finding(check, Outcome.FAIL, str(defect), evidence)
    records = records_of(content)
    if not records:
        return Finding(check, Outcome.INCONCLUSIVE, "there is no record")
    last = records[-1]
    text = f"each of {len(records)} is the one that was written; the last is #{last.seq} {last.hash[:12]}"
    return Finding(check, Outcome.PASS, text, {"records": len(records), "hash": last.hash})


def damaged(asked: Asked, records: Sequence[Record]) -> list[str]:
    """A warning for each copy here that these records stand in and that is not as it was written; what is shown may be false."""
    copies = sorted({audit.mirror_of(asked.mirrors, record) for record in records if not record.is_owed})
    found = [(copy, first_defect(copy.read_bytes())) for copy in copies]
    return [
        f"!! {defect} in {copy}: what is shown of it may be false (`{shipped.command()} audit.verify`)"
        for copy, defect in found
        if defect is not None
    ]


def journal(content: bytes, heads: Sequence[Head], silent: str, *, copied: Head | None) -> Finding:
    """The chain bears out every head the host's journal still has; without any, only what was `copied` here shows a cut end."""
    if heads:
        return _against(content, heads, "audit.journal", "the host's journal")
    text = f"the host's journal has no head of the chain ({silent})"
    if copied is None:
        return Finding("audit.journal", Outcome.INCONCLUSIVE, f"{text}: a cut end would not show")
    text = f"{text}; the copy here knows it up to #{copied[0]}"
    return Finding("audit.journal", Outcome.PASS, text, _WARNING)


def note(content: bytes, head: Head | None) -> Finding:
    """The mirror holds the last record that was ever copied into it."""
    if head is None:
        text = "there is no note of the last record copied: a cut end would not show"
        return Finding("audit.note", Outcome.INCONCLUSIVE, text)
    return _against(content, [head], "audit.note", "the note beside the copy")


def _against(content: bytes, heads: Sequence[Head], check: str, teller: str) -> Finding:
    defect = beyond(records_of(content), heads, teller)
    if defect is not None:
        return Finding(check, Outcome.FAIL, str(defect), {"seq": defect.seq, "kind": defect.kind})
    last = max(seq for seq, _ in heads)
    return Finding(check, Outcome.PASS, f"{teller} agrees, up to #{last}", {"heads": len(heads)})


def mirrored(found: Mirrored, before: Head | None) -> Finding:
    """The copy here and the host's chain are the same."""
    if found.note:
        evidence = {"aside": str(found.aside)} if found.aside else {}
        return Finding("audit.mirror", Outcome.FAIL, found.note, evidence)
    if before is None:
        return Finding("audit.mirror", Outcome.PASS, "there was no copy here: it was made now")
    came = f", {found.size_bytes} bytes of it new" if found.size_bytes else ""
    return Finding("audit.mirror", Outcome.PASS, f"the copy here is the host's chain{came}")


def aside(content: bytes, path: Path) -> Iterator[Finding]:
    """Records that were seen here once and that the chain no longer has; a person settles it by removing the file."""
    known = {record.hash for record in records_of(content)}
    for old in set_aside(path):
        lost = [record for record in records_of(old.read_bytes()) if record.hash not in known]
        sound = [record for record in lost if is_sound(record)]
        if sound:
            text = f"record #{sound[0].seq} {sound[0].id} was seen here and is in the chain no more"
            why = "; remove the file once you know why (a host or lab made anew)"
            yield Finding("audit.aside", Outcome.FAIL, f"{text}: {old}{why}", {"records": len(sound)})


def signatures(content: bytes, allowed: Path | None, *, required: bool) -> Iterator[Finding]:
    """Every signature is right, and says whose it is; with `required` every record has one."""
    if allowed is not None and (lines := signing.nameless(allowed.read_bytes())):
        listed = ", ".join(map(str, lines[:5])) + (" …" if len(lines) > 5 else "")
        text = f"{allowed}: no key is named in line {listed} (see ssh-keygen(1), ALLOWED SIGNERS)"
        yield Finding("audit.signers", Outcome.PASS, text, {**_WARNING, "lines": lines})
    records = records_of(content)
    signed = [record for record in records if "signature" in record.document]
    if required and len(signed) < len(records):
        bare = next(record for record in records if "signature" not in record.document)
        yield _bad(bare, "is not signed")
    elif signed:
        yield _signatures(signed, len(records), allowed, required=required)
    elif required:
        yield Finding("audit.signature", Outcome.INCONCLUSIVE, "there is no signed record")


def _signatures(signed: Sequence[Record], of: int, allowed: Path | None, *, required: bool) -> Finding:
    signers: collections.Counter[str] = collections.Counter()
    try:
        for record in signed:
            checked = signing.check(record, allowed)
            if checked.problem:
                return _bad(record, f"has a bad signature: {checked.problem}")
            signers[checked.principal] += 1
    except SigningError as error:
        return Finding("audit.signature", Outcome.INCONCLUSIVE, str(error))
    if allowed is None:
        return _anonymous(len(signed), of, required=required)
    by = ", ".join(f"{name} ({count})" for name, count in sorted(signers.items()))
    text = f"{len(signed)} of {of} records are signed, each signature is right: {by}"
    return Finding("audit.signature", Outcome.PASS, text, dict(signers))


def _anonymous(signed: int, of: int, *, required: bool) -> Finding:
    """Right signatures of nobody knows whom: enough to show that nothing was changed, not who it was."""
    text = (
        f"{signed} of {of} records are signed, each signature is right, by whom is not known: "
        "hosts/allowed_signers (see ssh-keygen(1)) would say"
    )
    outcome = Outcome.INCONCLUSIVE if required else Outcome.PASS
    return Finding("audit.signature", outcome, text, _WARNING)


def _bad(record: Record, what: str) -> Finding:
    evidence = {"seq": record.seq, "kind": "signature"}
    return Finding("audit.signature", Outcome.FAIL, f"record #{record.seq} {record.id} {what}", evidence)
