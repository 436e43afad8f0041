"""Strict host keys: what a host shows must be on file, or be accepted by name; a changed key is a hard stop."""

from __future__ import annotations

from typing import TYPE_CHECKING

import paramiko

from runbook.errors import UnreachableError
from runbook.ssh import known_hosts

if TYPE_CHECKING:
    from collections.abc import Sequence

    from runbook.ssh.hops import Hop

# The algorithms in which a key type of known_hosts is negotiated (RFC 8332: an RSA key signs with SHA-2).
_ALGORITHMS = {"ssh-rsa": ("rsa-sha2-512", "rsa-sha2-256")}


class HostKeys(paramiko.MissingHostKeyPolicy):
    """Paramiko's client is given no keys of its own, so every key it sees is judged here."""

    def __init__(self, hop: Hop, *, accept_new: bool) -> None:
        self._hop = hop
        self._accept_new = accept_new
        self._lines = known_hosts.read(hop.known_hosts)

    def missing_host_key(self, client: paramiko.SSHClient, hostname: str, key: paramiko.PKey) -> None:
        """Return for a key that is on file; UnreachableError for any other."""
        hop, shown = self._hop, key.asbytes()
        answer = known_hosts.judge(self._lines, hop.known_as, hop.port, shown)
        if answer.standing == "unknown" and self._accept_new and hop.known_hosts:
            known_hosts.append(
                hop.known_hosts[0], known_hosts.entry(hop.known_as, hop.port, key.get_name(), shown)
            )
        elif answer.standing != "known":
            raise UnreachableError(refusal(hop, key.get_name(), shown, answer))

    def prefer(self, transport: paramiko.Transport) -> None:
        """Ask for the key types on file first: a host shows only one of its keys."""
        options = transport.get_security_options()
        wanted = preferred(
            known_hosts.kinds(self._lines, self._hop.known_as, self._hop.port), options.key_types
        )
        options.key_types = wanted


def preferred(kinds: Sequence[str], supported: Sequence[str]) -> list[str]:
    """The supported algorithms, those of the key types on file before the others."""
    first = [
        algorithm for kind in kinds for algorithm in _ALGORITHMS.get(kind, (kind,)) if algorithm in supported
    ]
    return [*dict.fromkeys(first), *(one for one in supported if one not in first)]


def refusal(hop: Hop, kind: str, shown: bytes, answer: known_hosts.Answer) -> str:
    """Why a host key is refused, with its fingerprint and what to do."""
    fingerprint = f"{kind} {known_hosts.fingerprint(shown)}"
    if answer.standing == "revoked":
        return f"{hop.label}: its host key {fingerprint} is revoked in {answer.lines[0].where}"
    if answer.standing == "changed":
        return _changed(hop, fingerprint, answer)
    return _unknown(hop, fingerprint)


def _changed(hop: Hop, fingerprint: str, answer: known_hosts.Answer) -> str:
    known = "\n".join(
        f"  on file:  {line.kind} {known_hosts.fingerprint(line.key)}  ({line.where})"
        for line in answer.lines
    )
    return (
        f"{hop.label}: THE HOST KEY IS NOT THE ONE ON FILE\n  shown:    {fingerprint}\n{known}\n"
        "Somebody may be listening, or the host was set up anew. Nothing was sent. Ask its owner which is right; "
        f"if it is the new one, `ssh-keygen -R '{known_hosts.names(hop.known_as, hop.port)[0]}'` forgets the old."
    )


def _unknown(hop: Hop, fingerprint: str) -> str:
    scan = f"ssh-keyscan -p {hop.port} {hop.host}"
    looked = ", ".join(str(path) for path in hop.known_hosts) or "no file"
    return (
        f"{hop.label}: its host key {fingerprint} is not known (looked in {looked}).\n"
        f"Compare it with the host's own (`ssh-keygen -lf /etc/ssh/ssh_host_*_key.pub` there), then add it (`{scan}`) "
        "or run again with --accept-new."
    )
