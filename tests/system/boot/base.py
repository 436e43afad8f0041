"""The Debian that every machine starts from: built once by debootstrap, kept in the user's cache, never written again."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path

from runbook import interrupt
from runbook.development import SYSTEM
from tests.system.boot.commands import attempt, run
from tests.system.boot.runs import locked

PACKAGES = (
    "systemd", "systemd-sysv", "dbus", "libpam-systemd", "openssh-server", "sudo", "python3", "iproute2", "procps",
    "acl", "attr", "csh", "zsh", "fish",
)  # fmt: skip
# What only costs time in a machine that lives for a minute.
MASKED = (
    "apt-daily.timer",
    "apt-daily-upgrade.timer",
    "dpkg-db-backup.timer",
    "man-db.timer",
    "e2scrub_all.timer",
    "console-getty.service",
    "systemd-update-utmp.service",
    "systemd-update-utmp-runlevel.service",
)
SSHD = "MaxStartups 100:30:200\nUseDNS no\nPrintLastLog no\n"
PASSWORD = "correct horse"
_SEARCH_PATH = os.pathsep.join((os.environ.get("PATH", os.defpath), "/usr/sbin", "/sbin"))
BUILD_TIMEOUT_S = 900.0


@dataclass(frozen=True, slots=True)
class User:
    """A user of the base besides root. `sudoers` is its file in /etc/sudoers.d, None: it may not use sudo."""

    name: str
    sudoers: str | None = None
    shell: str = "/bin/bash"


USERS = (
    User("free", "free ALL=(ALL) NOPASSWD: ALL\n"),
    User("asked", "asked ALL=(ALL) ALL\n"),
    User("onterminal", "Defaults:onterminal requiretty\nonterminal ALL=(ALL) NOPASSWD: ALL\n"),
    User("nobodys"),
    User("dashing", "dashing ALL=(ALL) NOPASSWD: ALL\n", "/bin/dash"),
    User("seashell", "seashell ALL=(ALL) NOPASSWD: ALL\n", "/bin/csh"),
    User("zed", "zed ALL=(ALL) NOPASSWD: ALL\n", "/bin/zsh"),
    User("angler", "angler ALL=(ALL) NOPASSWD: ALL\n", "/usr/bin/fish"),
)


@dataclass(frozen=True, slots=True)
class Mirror:
    """Where this machine's own apt takes Debian from, and which Debian it is."""

    url: str
    suite: str


def cache() -> Path:
    """Where bases and runs are kept: outside any checkout, shared by all of them."""
    home = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(home) / "runbook" / "system"


class NoMirror(Exception):
    """The machine is no Debian, or its apt knows no archive of its own release."""


def mirror() -> Mirror:
    """The first Debian archive of the machine's apt that has its own release; raises NoMirror."""
    release = dict(line.partition("=")[::2] for line in Path("/etc/os-release").read_text().splitlines())
    suite = release.get("VERSION_CODENAME", "").strip('"')
    targets = run(["apt-get", "indextargets", "--format", "$(REPO_URI) $(RELEASE) $(COMPONENT)"])
    for line in targets.splitlines() if release.get("ID") == "debian" else []:
        url, _, kind = line.partition(" ")
        if kind == f"{suite} main":
            return Mirror(url, suite)
    raise NoMirror


def built(source: Mirror, root: Path) -> Path:
    """The base's tree below `root`, built when no tree of just this kind is there; two builders wait for each other."""
    kept = _place(source, root)
    with locked(root / "bases.lock"):
        for left in (root / "bases").glob("*.building"):  # whoever held the lock before us died over it
            _take_away(left)
        if not kept.exists():
            kept.parent.mkdir(exist_ok=True)
            _build(source, kept)
    return kept


def stands(source: Mirror, root: Path) -> bool:
    """Is that base built already?"""
    return _place(source, root).exists()


def _place(source: Mirror, root: Path) -> Path:
    return root / "bases" / _kind(source)


def _kind(source: Mirror) -> str:
    """Names what goes into a base: the release, the packages, and all that is laid upon them."""
    parts = (source.suite, *PACKAGES, *MASKED, SSHD, PASSWORD, *map(repr, USERS))
    return f"{source.suite}-{hashlib.sha256(repr(parts).encode()).hexdigest()[:12]}"


def _build(source: Mirror, kept: Path) -> None:
    fresh = Path(tempfile.mkdtemp(dir=kept.parent, suffix=".building"))
    fresh.chmod(0o755)
    command = [
        "debootstrap",
        "--variant=minbase",
        f"--include={','.join(PACKAGES)}",
        source.suite,
        str(fresh),
        source.url,
    ]
    try:
        run(command, timeout_s=BUILD_TIMEOUT_S)
        _dress(fresh)
        fresh.rename(kept)
    except BaseException:
        _take_away(fresh)
        raise


def _take_away(tree: Path) -> None:
    """Remove a tree that was not finished, after what debootstrap had mounted in it, which must not lose its contents."""
    for place in reversed(_mounted(tree)):
        attempt(["umount", "--lazy", str(place)])
    if not _mounted(tree):
        shutil.rmtree(tree)


def _mounted(tree: Path) -> list[Path]:
    """What is mounted in a tree, in the order of mounting. The kernel writes a blank as `\\040`."""
    lines = Path("/proc/self/mounts").read_text().splitlines()
    places = (re.sub(r"\\([0-7]{3})", lambda code: chr(int(code[1], 8)), line.split()[1]) for line in lines)
    return [place for place in map(Path, places) if place.is_relative_to(tree.resolve())]


def _dress(tree: Path) -> None:
    """What every machine has in common beyond its packages."""
    for unit in MASKED:
        (tree / "etc/systemd/system" / unit).unlink(missing_ok=True)
        (tree / "etc/systemd/system" / unit).symlink_to("/dev/null")
    (tree / "etc/ssh/sshd_config.d/tests.conf").write_text(SSHD)
    for key in (tree / "etc/ssh").glob("ssh_host_*"):
        key.unlink()
    for path in ("etc/resolv.conf", "var/lib/dbus/machine-id"):
        (tree / path).unlink(missing_ok=True)
    for user in USERS:
        _add(tree, user)
    shutil.rmtree(tree / "var/cache/apt", ignore_errors=True)
    shutil.rmtree(tree / "var/lib/apt/lists", ignore_errors=True)


def _add(tree: Path, user: User) -> None:
    run(["chroot", str(tree), "useradd", "--create-home", "--shell", user.shell, user.name])
    run(["chroot", str(tree), "chpasswd"], stdin=f"{user.name}:{PASSWORD}\n".encode())
    if user.sudoers is not None:
        path = tree / "etc/sudoers.d" / user.name
        path.write_text(user.sudoers)
        path.chmod(0o440)
        run(["chroot", str(tree), "visudo", "--check", "--quiet", "--file", f"/etc/sudoers.d/{user.name}"])


def missing_programs() -> list[str]:
    """Programs of this machine that the machines need and that are not there."""
    wanted = (*SYSTEM, "ssh-keygen", "apt-get")
    return [name for name in wanted if shutil.which(name, path=_SEARCH_PATH) is None]


@interrupt.held_back()
def can_mount() -> bool:
    """May we mount at all? Root in an unprivileged container may not. What is tried is undone, whoever presses Ctrl-C."""
    with tempfile.TemporaryDirectory() as directory:
        mounted = attempt(["mount", "-t", "tmpfs", "tmpfs", directory])
        return mounted and attempt(["umount", directory])
