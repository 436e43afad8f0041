"""Signatures of real SSH keys, made and checked by OpenSSH."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING, Any

import pytest

from runbook import policy
from runbook.audit import signing
from runbook.audit.appending import append
from runbook.audit.chain import first_defect
from runbook.audit.record import Record, records_of
from runbook.audit.signing import Checked, Signer, SigningError, check
from runbook.errors import FileChangedError, UsageError
from runbook.model import Policy
from tests.audit.chains import ChainWire, chain_of, record
from tests.building import host

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.real


def keygen(path: Path, *, passphrase: str = "", comment: str = "ann") -> Path:
    words = ["ssh-keygen", "-q", "-t", "ed25519", "-N", passphrase, "-C", comment, "-f", str(path)]
    subprocess.run(words, check=True, stdin=subprocess.DEVNULL)
    return path


def allow(path: Path, key: Path, name: str, options: str = "") -> Path:
    public = " ".join(key.with_name(f"{key.name}.pub").read_text().split()[:2])
    with path.open("a") as file:
        file.write(f"{name} {options}{public}\n")
    return path


@pytest.fixture
def key(tmp_path: Path) -> Path:
    return keygen(tmp_path / "id")


@pytest.fixture
def allowed(tmp_path: Path, key: Path) -> Path:
    return allow(tmp_path / "allowed", key, "ann@example.net", 'namespaces="runbook-audit" ')


def signed(key: Path, *others: dict[str, Any], **more: Any) -> Record:
    """A signed record on a chain, after `others` that come in between."""
    wire = ChainWire(chain_of([record(1)]), others=list(others))
    append(wire, "/state", record(2, **more), Signer(key).sign, deadline_s=1)  # type: ignore[arg-type]
    assert first_defect(wire.content) is None
    return records_of(wire.content)[-1]


def relinked(found: Record, **changed: Any) -> Record:
    """The record as root on the host would forge it: changed, with a hash that fits."""
    content = chain_of([record(1), {**found.document, **changed}])
    return records_of(content)[-1]


def test_a_signature_says_whose_it_is(key: Path, allowed: Path) -> None:
    assert check(signed(key), allowed) == Checked("ann@example.net")


def test_without_allowed_signers_a_right_signature_is_anonymous(key: Path) -> None:
    assert check(signed(key), None) == Checked()


@pytest.mark.parametrize("changed", [{"n": 3}, {"seq": 7}, {"prev": "0" * 64}, {"more": 1}])
def test_a_signature_fits_no_other_content_and_no_other_place(
    key: Path, allowed: Path, changed: dict[str, Any]
) -> None:
    found = signed(key)
    forged = Record({**found.document, **changed}, b"")
    assert "incorrect signature" in check(forged, allowed).problem
    assert "incorrect signature" in check(forged, None).problem


def test_a_record_hashed_anew_by_root_keeps_no_right_signature(key: Path, allowed: Path) -> None:
    forged = relinked(signed(key), outcome="pass")
    assert "incorrect signature" in check(forged, allowed).problem


def test_a_line_that_names_no_key_is_known_by_its_number(allowed: Path) -> None:
    assert signing.nameless(allowed.read_bytes()) == []
    with_options = b'ann,bob cert-authority,namespaces="runbook-audit x" ssh-rsa AAAAB3Nza ann@desk\n'
    assert signing.nameless(b"# ours\n\n" + with_options + b"sk sk-ssh-ed25519@openssh.com AAAAGnNr") == []
    assert signing.nameless(b"# ours\n\xff\x00\nssh-ed25519 AAAAC3Nz\n\nann ssh-ed25519\n") == [2, 3, 5]


def test_a_key_that_nobody_allowed_is_named_as_such(tmp_path: Path, key: Path) -> None:
    other = allow(tmp_path / "others", keygen(tmp_path / "other"), "bob@example.net")
    assert "does not name" in check(signed(key), other).problem


@pytest.mark.parametrize(
    ("ended", "right"),
    [("2026-01-15T12:00:00+00:00", True), ("2026-03-15T12:00:00+00:00", False)],
)
def test_a_key_counts_for_the_days_it_was_allowed(tmp_path: Path, key: Path, ended: str, right: bool) -> None:
    file = allow(tmp_path / "retired", key, "ann@example.net", 'valid-before="20260201" ')
    assert bool(check(signed(key, ended=ended), file).principal) is right


@pytest.mark.parametrize("other", ["git", "file,email", "!runbook-audit,*"])
def test_a_key_may_be_listed_for_another_purpose_first(tmp_path: Path, key: Path, other: str) -> None:
    file = allow(tmp_path / "both", key, "git-ann", f'namespaces="{other}" ')
    assert check(signed(key), file).problem
    allow(file, key, "ann@example.net", 'valid-after="20250101",namespaces="git,runbook-*" ')
    assert check(signed(key), file) == Checked("ann@example.net")


def test_a_signature_for_another_purpose_is_none(tmp_path: Path, key: Path, allowed: Path) -> None:
    found = signed(key)
    words = ["ssh-keygen", "-Y", "sign", "-q", "-f", str(key), "-n", "file"]
    done = subprocess.run(words, input=signing.payload(found.document), capture_output=True, check=True)
    other = Record({**found.document, "signature": done.stdout.decode()}, b"")
    assert check(other, allowed).problem
    assert check(other, None).problem


@pytest.mark.parametrize("signature", ["", "garbage", None, 7, "-----BEGIN SSH SIGNATURE-----\nAAAA\n"])
def test_what_is_no_signature_is_a_problem(key: Path, allowed: Path, signature: Any) -> None:
    found = Record({**signed(key).document, "signature": signature}, b"")
    assert check(found, allowed).problem


def test_a_place_that_another_record_took_is_signed_for_anew(key: Path, allowed: Path) -> None:
    found = signed(key, record(8), record(9))
    assert found.seq == 4
    assert check(found, allowed).principal == "ann@example.net"


def test_whoever_never_gets_a_place_is_refused_in_the_end(key: Path) -> None:
    with pytest.raises(FileChangedError):
        signed(key, *(record(number) for number in range(10, 30)))


def test_a_locked_key_is_refused_without_asking_anybody(tmp_path: Path) -> None:
    locked = keygen(tmp_path / "locked", passphrase="sesame")
    with pytest.raises(SigningError, match="passphrase"):
        Signer(locked).sign(b"x")


# ------------------------------------------------------------------ before the host is connected to


def test_the_variable_names_the_key_and_the_key_is_tried(key: Path, tmp_path: Path) -> None:
    assert policy.signer({}) is None
    assert policy.signer({"RUNBOOK_SIGNING_KEY": str(key)}) == Signer(key)
    with pytest.raises(SigningError, match="cannot be signed"):
        policy.signer({"RUNBOOK_SIGNING_KEY": str(tmp_path / "none")})


def test_a_host_may_want_a_reason_and_a_signature() -> None:
    wants = host(policy=Policy(reason="required", signature="required"))
    with pytest.raises(UsageError, match=r"hosts/gpu1.yml: policy.reason is required: deploy wants --reason"):
        policy.require(wants, "deploy", "  ", signed=True)
    with pytest.raises(UsageError, match=r"policy.signature is required: RUNBOOK_SIGNING_KEY"):
        policy.require(wants, "deploy", "because", signed=False)
    policy.require(wants, "deploy", "because", signed=True)
    policy.require(host(), "deploy", "", signed=False)


def test_a_reason_is_bounded() -> None:
    with pytest.raises(UsageError, match="at most 1000 characters, found 1001"):
        policy.require(host(), "deploy", "x" * 1001, signed=False)
