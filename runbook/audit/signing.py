"""Signatures of records with the operator's SSH key, by OpenSSH's own `ssh-keygen -Y`.

What is signed is the record in its place, `seq` and `prev` included, so that a signed record fits nowhere else; the
record's hash covers the signature. So root on the host can drop the end of a chain, but not write a record in another's name.
"""

from __future__ import annotations

import fnmatch
import os
import re
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from runbook.errors import RunbookError
from runbook.onhost.audit import canonical

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from runbook.audit.record import Record

NAMESPACE = "runbook-audit"
_SIGNATURE_S = 60.0  # a key on a token wants a touch
_LAST_BYTES = 400
_COMMENT_OR_KEY = re.compile(rb"\s*#|\s*\S.*\s(sk-)?(ssh|ecdsa)-[\w@.-]+\s+AAAA[A-Za-z0-9+/=]+")
_NAMESPACES = re.compile(rb'[\s,]namespaces="([^"]*)"', re.IGNORECASE)


class SigningError(RunbookError):
    """ssh-keygen would not sign, or could not be asked."""

    exit_code = 2


def payload(placed: Mapping[str, Any]) -> bytes:
    """The bytes a signature is over: the record in its place, without its hash and the signature itself."""
    return canonical({key: value for key, value in placed.items() if key != "signature"})


@dataclass(frozen=True, slots=True)
class Signer:
    """A key to sign with: a private key without passphrase, or a public one whose private half an agent holds."""

    key: Path

    def sign(self, content: bytes) -> str:
        """The armoured SSH signature; raises SigningError with ssh-keygen's own words."""
        done = _keygen(["-Y", "sign", "-q", "-f", str(self.key), "-n", NAMESPACE], content)
        if done.returncode != 0:
            raise SigningError(f"the audit record cannot be signed with {self.key}: {_words(done)}")
        return done.stdout.decode("ascii", "replace")


@dataclass(frozen=True, slots=True)
class Checked:
    """What came of checking one signature: by whom it is (`principal`, empty where nobody says), or the `problem`."""

    principal: str = ""
    problem: str = ""


def check(record: Record, allowed: Path | None) -> Checked:
    """Check a signed record against an allowed_signers file; without one only that somebody's key signed these bytes."""
    signature = record.document.get("signature")
    if not isinstance(signature, str):
        return Checked(problem="its signature is no text")
    with tempfile.TemporaryDirectory(prefix="runbook-") as directory:
        path = Path(directory, "signature")
        path.write_text(signature, encoding="utf-8", errors="replace")
        return _checked(payload(record.document), path, allowed, _at(record))


def _checked(content: bytes, signature: Path, allowed: Path | None, at: Sequence[str]) -> Checked:
    if allowed is None:
        done = _keygen(["-Y", "check-novalidate", "-n", NAMESPACE, "-s", str(signature)], content)
        return Checked(problem="" if done.returncode == 0 else _words(done))
    known = ["-s", str(signature), "-f"]
    ours = signature.with_name("allowed")
    ours.write_bytes(_for_us(allowed.read_bytes()))
    named = _keygen(["-Y", "find-principals", *known, str(ours), *at], b"")
    principal = named.stdout.decode("utf-8", "replace").partition("\n")[0].partition(",")[0].strip()
    if named.returncode != 0 or not principal:
        return Checked(problem=f"signed by a key that {allowed} does not name for that day")
    done = _keygen(["-Y", "verify", *known, str(allowed), "-I", principal, "-n", NAMESPACE, *at], content)
    return Checked(principal) if done.returncode == 0 else Checked(problem=_words(done))


def nameless(allowed: bytes) -> list[int]:
    """The lines of an allowed_signers file, from 1, that are neither empty nor a comment and hold no key: nobody reads them."""
    lines = enumerate(allowed.split(b"\n"), 1)
    return [number for number, line in lines if line.strip() and not _COMMENT_OR_KEY.match(line)]


def _for_us(allowed: bytes) -> bytes:
    """Without the lines for other purposes: find-principals names the first that has the key, whatever it is for."""
    return b"\n".join(line for line in allowed.split(b"\n") if _is_for_us(line))


def _is_for_us(line: bytes) -> bool:
    found = _NAMESPACES.search(line)
    patterns = found[1].decode("utf-8", "replace").split(",") if found else ["*"]
    refused = any(_matches(pattern[1:]) for pattern in patterns if pattern.startswith("!"))
    return not refused and any(map(_matches, patterns))


def _matches(pattern: str) -> bool:
    return fnmatch.fnmatchcase(NAMESPACE, pattern.replace("[", "[[]"))  # ssh_config(5) knows * and ? alone


def _at(record: Record) -> list[str]:
    """A key counts if it was allowed when the rollout ended; it may have been retired since."""
    if record.ended is None:
        return []
    # In the machine's own zone: OpenSSH before 9.1 knows no other.
    return [f"-Overify-time={record.ended.astimezone():%Y%m%d%H%M%S}"]


def _keygen(arguments: Sequence[str], content: bytes) -> subprocess.CompletedProcess[bytes]:
    """Run ssh-keygen, which may never ask a person: at the end of a rollout nobody may be there."""
    environ = {**os.environ, "LC_ALL": "C", "SSH_ASKPASS": "/bin/false", "SSH_ASKPASS_REQUIRE": "force"}
    try:
        return subprocess.run(
            ["ssh-keygen", *arguments],
            input=content,
            capture_output=True,
            timeout=_SIGNATURE_S,
            env=environ,
            check=False,
        )
    except FileNotFoundError:
        raise SigningError(
            "there is no ssh-keygen here: signatures can be neither made nor checked"
        ) from None
    except subprocess.TimeoutExpired:
        raise SigningError(f"ssh-keygen gave no answer within {_SIGNATURE_S:.0f} s") from None


def _words(done: subprocess.CompletedProcess[bytes]) -> str:
    said = (done.stderr.strip() or done.stdout.strip())[-_LAST_BYTES:].decode("utf-8", "replace")
    return " ".join(said.split()) or f"ssh-keygen exited {done.returncode}"
