"""What the wire costs: milliseconds on this machine, and round trips over a relay that delays every byte.

    python -m benchmarks.wire [--repeats 10] [--round-trip-ms 100]

A real sshd of this user on a loopback port is the host. Round trips are the median delay of a step over the relay, less
its median without, divided by the relay's round trip: 4.0 means that the step waited four times for the host.
"""

from __future__ import annotations

import argparse
import base64
import contextlib
import hashlib
import http.server
import statistics
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import fabric
import paramiko

from benchmarks.relay import relay
from runbook import bundle, ssh
from runbook.tunnel import Tunnel
from tests import sshd

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from runbook.model import SshTarget
    from runbook.ssh import Wire
    from runbook.ssh.boot import Payload
    from runbook.ssh.link import Link

Steps = dict[str, float]


class Stopwatch:
    """Times of named steps."""

    def __init__(self) -> None:
        self.steps: Steps = {}

    def time(self, name: str, run: Callable[[], Any]) -> Any:
        started = time.perf_counter()
        value = run()
        self.steps[name] = time.perf_counter() - started
        return value


def wire_steps(target: SshTarget, root: Path, payload: Payload, url: str) -> Steps:
    """One deploy's worth of steps on one connection."""
    watch = Stopwatch()
    state = str(root / "state")
    link = watch.time("connect", lambda: ssh.connect(target, timeout_s=60))
    with link:
        wire = watch.time("start the helper", lambda: start(link, payload, state))
        files = [root / "prefill.sh", root / "decode.sh"]
        watch.time("observe", lambda: observe(wire, state, files))
        watch.time("lock", lambda: wire.call("lock", state=state, holder={"who": "benchmark"}))
        watch.time("write 2 files", lambda: write(wire, files))
        watch.time("audit record", lambda: wire.call("audit_append", state=state, record={"n": 1}))
        watch.time("GET through the tunnel", lambda: Tunnel(link).get(url, deadline_s=60))
        watch.time("close the wire", wire.close)
    return watch.steps


def start(link: Link, payload: Payload, state: str) -> Any:
    return link.open_wire("writing", payload=payload, state=state, python=sys.executable)


def observe(wire: Wire, state: str, files: list[Path]) -> Any:
    names = [str(path) for path in files]
    return wire.call("observe", state=state, files=names, units=[], names=[], patterns=[])


def write(wire: Wire, files: list[Path]) -> Any:
    return wire.call("files_write", changes=[_change(path) for path in files])


def _change(path: Path) -> dict[str, Any]:
    old = path.read_bytes()
    new = old + b"# benchmark\n"
    encoded = base64.b64encode(new).decode()
    return {"path": str(path), "before": hashlib.sha256(old).hexdigest(), "b64": encoded, "check": "bash"}


def fabric_steps(target: SshTarget) -> Steps:
    """A bare Fabric script that runs one command, for comparison."""
    watch = Stopwatch()
    config = fabric.Config(ssh_config=paramiko.SSHConfig(), lazy=True)
    connect = {"key_filename": target.key, "look_for_keys": False, "allow_agent": False}
    with fabric.Connection(
        target.address, target.user, target.port, config=config, connect_kwargs=connect
    ) as connection:
        watch.time("Fabric: connect", connection.open)
        watch.time("Fabric: run one command", lambda: connection.run("true", hide=True, in_stream=False))
    return watch.steps


def medians(runs: list[Steps]) -> Steps:
    return {name: statistics.median(run[name] for run in runs) for name in runs[0]}


def table(near: Steps, far: Steps, round_trip_s: float) -> str:
    """Milliseconds here and round trips over the relay, a step a line."""
    lines = [f"{'step':28} {'ms here':>8} {'round trips':>12}"]
    for name, here in near.items():
        trips = (far[name] - here) / round_trip_s
        lines.append(f"{name:28} {here * 1000:8.1f} {trips:12.1f}")
    return "\n".join(lines)


class _Ok(http.server.BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:
        return


@contextlib.contextmanager
def web() -> Iterator[str]:
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Ok) as running:
        threading.Thread(target=running.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
        yield f"http://127.0.0.1:{running.server_address[1]}/health"
        running.shutdown()


def measure(repeats: int, round_trip_s: float) -> str:
    """The whole table."""
    payload = bundle.helper_payload
    with (
        tempfile.TemporaryDirectory() as name,
        sshd.serving(Path(name, "sshd")) as server,
        relay("127.0.0.1", server.port, round_trip_s / 2) as port,
        web() as url,
    ):
        root = Path(name)
        for script in ("prefill.sh", "decode.sh"):
            (root / script).write_text("#!/bin/bash\nexport A=1\n", encoding="utf-8")
        near = server.target()
        with server.known_hosts.open("a", encoding="ascii") as known:
            known.write(server.known_hosts.read_text(encoding="ascii").replace(str(server.port), str(port)))
        far = near._replace(port=port)

        def steps(target: SshTarget) -> Steps:
            return {**wire_steps(target, root, payload, url), **fabric_steps(target)}

        steps(near)  # the first run loads modules
        runs = [(steps(near), steps(far)) for _ in range(repeats)]
        return table(medians([one for one, _ in runs]), medians([two for _, two in runs]), round_trip_s)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--round-trip-ms", type=float, default=100.0)
    options = parser.parse_args()
    print(measure(options.repeats, options.round_trip_ms / 1000))


if __name__ == "__main__":
    main()
