"""From a target to the hops that lead there, by the user's own OpenSSH configuration.

The configuration is asked once a hop, since `ssh -G` leaves jump hosts, tokens and `~` unresolved.
"""

from __future__ import annotations

import getpass
import os
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from runbook.errors import UnreachableError
from runbook.ssh.known_hosts import STANDARD_PORT
from runbook.ssh.options import asker

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from runbook.model import SshTarget
    from runbook.ssh.options import Ask

_DEFAULT_KEYS = ("id_rsa", "id_ecdsa", "id_ecdsa_sk", "id_ed25519", "id_ed25519_sk")
_USER_KNOWN_HOSTS = "~/.ssh/known_hosts ~/.ssh/known_hosts2"
_SYSTEM_KNOWN_HOSTS = "/etc/ssh/ssh_known_hosts /etc/ssh/ssh_known_hosts2"
_HOPS_LIMIT = 8


class Hop(NamedTuple):
    """One login on the way. `alias` is the name it was asked for, `host` where it really is.

    `agent` is the agent's socket; with `only_keys` it speaks for the keys named here alone.

    `known_as` is the name its key is filed under. `known_hosts` stand in order, the first is the one added to.
    """

    alias: str
    host: str
    port: int
    user: str
    keys: tuple[Path, ...] = ()
    agent: str | None = None
    only_keys: bool = False
    known_as: str = ""
    known_hosts: tuple[Path, ...] = ()
    proxy_command: str | None = None
    jumps: tuple[str, ...] = ()

    @property
    def label(self) -> str:
        """The hop as messages name it."""
        where = self.host if self.port == STANDARD_PORT else f"{self.host}:{self.port}"
        return f"{self.user}@{where}" if self.alias == self.host else f"{self.alias} ({self.user}@{where})"


def hops(target: SshTarget) -> tuple[Hop, ...]:
    """The logins that lead to the target, outermost first; UnreachableError for a loop of jump hosts."""
    ask = asker(target.config)
    last = _explicit(_hop(ask, target.address, target.user, target.port), target)
    return tuple(_with_known_hosts(hop, target) for hop in (*_before(ask, last, (target.address,)), last))


def _explicit(hop: Hop, target: SshTarget) -> Hop:
    """What the host file says counts more than any configuration."""
    return hop._replace(keys=(Path(target.key).expanduser(),), only_keys=True) if target.key else hop


def _with_known_hosts(hop: Hop, target: SshTarget) -> Hop:
    return hop._replace(known_hosts=(Path(target.known_hosts).expanduser(),)) if target.known_hosts else hop


def _before(ask: Ask, hop: Hop, seen: tuple[str, ...]) -> tuple[Hop, ...]:
    """The jump hosts of a hop. Of several the first follows its own configuration, the others go through it."""
    if not hop.jumps:
        return ()
    jumps = [_jump(ask, word) for word in hop.jumps]
    names = [jump.alias for jump in jumps]
    if len(seen) > _HOPS_LIMIT or set(names) & set(seen) or len(set(names)) < len(names):
        raise UnreachableError(f"the jump hosts of {seen[0]} form a loop: {' → '.join((*seen, *names))}")
    return (*_before(ask, jumps[0], (*seen, *names)), *jumps)


def _jump(ask: Ask, word: str) -> Hop:
    """A word of ProxyJump: `[user@]host[:port]`, or the same as an ssh:// URI."""
    text = word.removeprefix("ssh://")
    user, at, place = text.rpartition("@")
    host, port = _place(place)
    return _hop(ask, host, user if at else None, port)


def _place(text: str) -> tuple[str, int | None]:
    """`host`, `host:port` or `[v6]:port`."""
    if text.startswith("["):
        host, _, rest = text[1:].partition("]")
        return host, int(rest[1:]) if rest.startswith(":") else None
    host, colon, port = text.rpartition(":")
    if not colon or ":" in host:
        return text, None
    return host, int(port)


def _hop(ask: Ask, address: str, user: str | None, port: int | None) -> Hop:
    if address.startswith("-") or not address.strip():
        raise UnreachableError(f"{address!r} is no host name")
    return parse(ask(address, user, port), address, Path.home())


def parse(options: Mapping[str, Sequence[str]], address: str, home: Path) -> Hop:
    """What `ssh -G` printed, as a hop. `~` and tokens are left in it by ssh and expanded here."""
    host = _one(options, "hostname", address)
    user = _one(options, "user", "") or getpass.getuser()
    port = int(_one(options, "port", str(STANDARD_PORT)))
    tokens = {
        "%": "%",
        "h": host,
        "n": address,
        "p": str(port),
        "r": user,
        "d": str(home),
        "u": getpass.getuser(),
    }
    return Hop(
        alias=address,
        host=host,
        port=port,
        user=user,
        keys=_keys(options, tokens, home),
        agent=_agent(_one(options, "identityagent", "SSH_AUTH_SOCK"), tokens, home),
        only_keys=_one(options, "identitiesonly", "no") == "yes",
        known_as=_one(options, "hostkeyalias", host),
        known_hosts=_known_hosts(options, tokens, home),
        proxy_command=_none(expand(_one(options, "proxycommand", "none"), tokens)),
        jumps=_jumps(_one(options, "proxyjump", "none")),
    )


def _jumps(text: str) -> tuple[str, ...]:
    return tuple(word.strip() for word in text.split(",")) if _none(text) else ()


def _keys(options: Mapping[str, Sequence[str]], tokens: Mapping[str, str], home: Path) -> tuple[Path, ...]:
    """Key files that exist: ssh -G lists its defaults whether they are there or not."""
    named = options.get("identityfile") or [f"~/.ssh/{name}" for name in _DEFAULT_KEYS]
    paths = (_path(expand(name, tokens), home) for name in named)
    return tuple(dict.fromkeys(path for path in paths if path.is_file()))


def _agent(named: str, tokens: Mapping[str, str], home: Path) -> str | None:
    """The socket of the agent: `none`, a variable that holds it, or a path."""
    if named == "SSH_AUTH_SOCK" or named.startswith("$"):
        return os.environ.get(named.strip("${}")) or None
    return None if named.lower() == "none" else str(_path(expand(named, tokens), home))


def _known_hosts(
    options: Mapping[str, Sequence[str]], tokens: Mapping[str, str], home: Path
) -> tuple[Path, ...]:
    user = _one(options, "userknownhostsfile", _USER_KNOWN_HOSTS)
    system = _one(options, "globalknownhostsfile", _SYSTEM_KNOWN_HOSTS)
    return tuple(
        _path(expand(word, tokens), home) for word in (*user.split(), *system.split()) if word != "none"
    )


def _path(text: str, home: Path) -> Path:
    text = text.strip('"')
    return home / text[2:] if text.startswith("~/") else Path(text)


def expand(text: str, tokens: Mapping[str, str]) -> str:
    """ssh_config's percent tokens; one we do not know stays as it is."""
    parts = text.split("%")
    out = [parts.pop(0)]
    while parts:
        part = parts.pop(0)
        if part == "" and parts:  # "%%"
            out.append("%" + parts.pop(0))
        else:
            out.append(tokens[part[0]] + part[1:] if part[:1] in tokens else "%" + part)
    return "".join(out)


def _one(options: Mapping[str, Sequence[str]], key: str, default: str) -> str:
    values = options.get(key)
    return values[0] if values else default


def _none(text: str) -> str | None:
    return None if text.lower() in ("none", "") else text
