"""Each tool as a command line that deploys to one host: runbook, Ansible and pyinfra."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.others import installed
from tests.system.service import laying

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from tests.system.hosts import TestHost

_HERE = Path(__file__).parent
_PROJECT = _HERE.parents[1]
_TIMEOUT_S = 300.0
_LAST_CHARACTERS = 2000
# The two flags that every tool edits; nothing else of the host file costs runbook a second.
FLAGS = {name: laying.FLAGS[name] for name in (laying.OVERLAP, laying.TOPK)}
# Bytecode is written, as it is for whoever uses a tool twice.
_ENVIRONMENT = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
# As often as the others ask, and no hold: they have none.
WAIT = {
    "health": {"attempts": 200, "every_s": 0.05, "timeout_s": 3},
    "ready": {"attempts": 40, "every_s": 0.05, "timeout_s": 5, "max_tokens": 8},
    "hold_s": 0,
}

_ANSIBLE = """\
[defaults]
inventory = inventory.ini
forks = 1
gathering = explicit
interpreter_python = /usr/bin/python3
[ssh_connection]
pipelining = True
control_path_dir = {control}
ssh_args = -F none -C -o ControlMaster=auto -o ControlPersist=60s -o UserKnownHostsFile={known_hosts} -o IdentitiesOnly=yes
"""


class ToolFailedError(Exception):
    """A tool's deploy ended with another exit code than 0."""


@dataclass(frozen=True, slots=True)
class Tool:
    """A command that deploys. `directory` is where it runs; `environ` comes over ours."""

    name: str
    version: str
    argv: tuple[str, ...]
    directory: Path
    environ: Mapping[str, str] = field(default_factory=dict)

    def deploy(self) -> None:
        """One deploy as a whole process; raises ToolFailedError with its last words."""
        done = subprocess.run(
            self.argv,
            cwd=self.directory,
            env={**_ENVIRONMENT, **self.environ},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=_TIMEOUT_S,
            check=False,
        )
        if done.returncode:
            said = done.stdout.decode("utf-8", "replace")[-_LAST_CHARACTERS:]
            raise ToolFailedError(f"{self.name} ended with exit {done.returncode}:\n{said}")


def runbook(host: TestHost, directory: Path) -> Tool:
    """This project's own deploy, without load."""
    hosts = directory / "hosts"
    hosts.mkdir(parents=True)
    (hosts / "gpu1.yml").write_text(laying.host_file(host, flags=FLAGS, wait=WAIT), encoding="utf-8")
    words = ("deploy", "--host", "gpu1", "--yes", "--skip-validation")
    argv = (sys.executable, "-m", "runbook", "--search-root", str(_PROJECT), *words)
    return Tool("runbook", "this checkout", argv, directory, {"PYTHONPATH": str(_PROJECT)})


def ansible(host: TestHost, directory: Path, control: Path) -> Tool:
    """ansible-core; `control` is where ssh keeps its sockets, and must be short. Raises NotInstalledError."""
    programs = installed.programs("ansible-core")
    directory.mkdir(parents=True)
    shutil.copy(_HERE / "playbook.yml", directory)
    (directory / "inventory.ini").write_text(
        f"gpu1 ansible_host={host.address} ansible_user=root ansible_ssh_private_key_file={host.key}\n"
    )
    config = _ANSIBLE.format(control=control, known_hosts=host.known_hosts)
    (directory / "ansible.cfg").write_text(config)
    argv = (str(programs / "ansible-playbook"), "playbook.yml")
    environ = {"ANSIBLE_CONFIG": str(directory / "ansible.cfg"), "LC_ALL": "C.UTF-8"}
    return Tool(
        "ansible", f"ansible-core {installed.version(programs, 'ansible-core')}", argv, directory, environ
    )


def pyinfra(host: TestHost, directory: Path) -> Tool:
    """pyinfra; raises NotInstalledError."""
    programs = installed.programs("pyinfra")
    directory.mkdir(parents=True)
    shutil.copy(_HERE / "pyinfra_deploy.txt", directory / "deploy.py")
    login = {
        "ssh_user": "root",
        "ssh_key": str(host.key),
        "ssh_known_hosts_file": str(host.known_hosts),
        "ssh_config_file": "/dev/null",
        "ssh_strict_host_key_checking": "yes",
    }
    (directory / "inventory.py").write_text(f"hosts = [({host.address!r}, {login!r})]\n")
    argv = (str(programs / "pyinfra"), "-y", "inventory.py", "deploy.py")
    return Tool("pyinfra", f"pyinfra {installed.version(programs, 'pyinfra')}", argv, directory)


@contextlib.contextmanager
def controlled(host: TestHost) -> Iterator[Path]:
    """A directory for ssh's sockets; connections that are still kept open at its end are closed."""
    with tempfile.TemporaryDirectory(prefix="cp", dir="/tmp") as name:
        yield Path(name)
        hang_up(host, Path(name))


def hang_up(host: TestHost, control: Path) -> None:
    """Close the connections that ssh keeps open: the next deploy logs in anew, as one an hour later would."""
    for socket in control.iterdir():
        argv = ["ssh", "-F", "none", "-o", f"ControlPath={socket}", "-O", "exit", host.address]
        subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, timeout=10, check=False)
