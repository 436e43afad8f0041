"""known_hosts by OpenSSH's rules (sshd(8), "SSH_KNOWN_HOSTS FILE FORMAT"): which keys may a host show?

Read by us because paramiko raises on marked lines, misses wildcards, and calls a second key of a type changed.
"""

from __future__ import annotations

import base64
import binascii
import fnmatch
import hashlib
import hmac
from typing import TYPE_CHECKING, Literal, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

STANDARD_PORT = 22
Standing = Literal["known", "unknown", "changed", "revoked"]


class Line(NamedTuple):
    """One key of a known_hosts file. `marker` is empty, `@cert-authority` or `@revoked`; `where` is file:line."""

    marker: str
    hosts: str
    kind: str
    key: bytes
    where: str

    def covers(self, name: str) -> bool:
        """Does the line speak of this host name?"""
        if self.hosts.startswith("|1|"):
            return _hashed(self.hosts, name)
        return _listed(self.hosts, name)


class Answer(NamedTuple):
    """How a shown key stands, and the lines that say so."""

    standing: Standing
    lines: tuple[Line, ...] = ()


def read(paths: Iterable[Path]) -> tuple[Line, ...]:
    """The lines of these files in order; a file that is not there has none."""
    return tuple(line for path in paths if path.is_file() for line in parse(path.read_bytes(), str(path)))


def parse(content: bytes, name: str) -> tuple[Line, ...]:
    """The lines of a known_hosts file; comments and what is no key are skipped, as ssh does."""
    texts = content.decode("utf-8", "replace").splitlines()
    found = (_line(text, f"{name}:{number}") for number, text in enumerate(texts, 1))
    return tuple(line for line in found if line is not None)


def _line(text: str, where: str) -> Line | None:
    words = text.split()
    if not words or words[0].startswith("#"):
        return None
    marker = words.pop(0) if words[0].startswith("@") else ""
    if len(words) < 3:
        return None
    try:
        return Line(marker, words[0], words[1], base64.b64decode(words[2], validate=True), where)
    except binascii.Error:
        return None


def _hashed(hosts: str, name: str) -> bool:
    """`|1|salt|HMAC-SHA1(salt, name)`, as ssh-keygen -H writes."""
    try:
        salt, digest = (base64.b64decode(part) for part in hosts.split("|")[2:4])
    except (binascii.Error, ValueError):
        return False
    return hmac.compare_digest(hmac.new(salt, name.encode(), hashlib.sha1).digest(), digest)


def _listed(hosts: str, name: str) -> bool:
    """A comma-separated list of patterns; one negated match rules the whole line out."""
    patterns = hosts.lower().split(",")
    if any(_matches(pattern[1:], name) for pattern in patterns if pattern.startswith("!")):
        return False
    return any(_matches(pattern, name) for pattern in patterns if not pattern.startswith("!"))


def _matches(pattern: str, name: str) -> bool:
    # fnmatch's brackets are literal here: `[host]:2222` is how a port is written.
    return fnmatch.fnmatchcase(name, pattern.replace("[", "[[]"))


def names(host: str, port: int) -> tuple[str, ...]:
    """The names a host may be listed under; for another port the bare name counts too, but only to confirm a key."""
    plain = host.lower()
    return (plain,) if port == STANDARD_PORT else (f"[{plain}]:{port}", plain)


def judge(lines: Iterable[Line], host: str, port: int, key: bytes) -> Answer:
    """How a key stands that a host showed. A key that is listed wins over others that are not this one."""
    asked = names(host, port)
    exact = [line for line in lines if line.covers(asked[0])]
    plain = [line for line in lines if line.covers(asked[-1])]
    revoked = tuple(line for line in (*exact, *plain) if line.marker == "@revoked" and line.key == key)
    if revoked:
        return Answer("revoked", revoked)
    same = tuple(line for line in (*exact, *plain) if not line.marker and line.key == key)
    if same:
        return Answer("known", same)
    others = tuple(line for line in exact if not line.marker)
    return Answer("changed", others) if others else Answer("unknown")


def kinds(lines: Iterable[Line], host: str, port: int) -> tuple[str, ...]:
    """The key types on file for a host: they are asked for first, or a host with several keys looks unknown."""
    covering = (line for name in names(host, port) for line in lines if not line.marker and line.covers(name))
    return tuple(dict.fromkeys(line.kind for line in covering))


def fingerprint(key: bytes) -> str:
    """A key's fingerprint as ssh shows it."""
    return "SHA256:" + base64.b64encode(hashlib.sha256(key).digest()).decode("ascii").rstrip("=")


def entry(host: str, port: int, kind: str, key: bytes) -> str:
    """The line that makes a key known."""
    return f"{names(host, port)[0]} {kind} {base64.b64encode(key).decode('ascii')}\n"


def append(path: Path, line: str) -> None:
    """Add a line to a known_hosts file, making the file where needed."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    path.touch(mode=0o600, exist_ok=True)
    content = path.read_bytes()
    with path.open("a", encoding="utf-8") as file:
        file.write(line if not content or content.endswith(b"\n") else f"\n{line}")
