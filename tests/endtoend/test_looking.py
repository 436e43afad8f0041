"""restart, logs, status, releases and report of the lab, as a person uses them; every document is what the schema says."""

from __future__ import annotations

import contextlib
import http.server
import json
import threading
from typing import TYPE_CHECKING

import pytest

from tests import jsonschemas

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.endtoend.story import Desk

pytestmark = pytest.mark.real


@contextlib.contextmanager
def hook() -> Iterator[tuple[str, list[bytes]]]:
    """A webhook on this machine: its URL, and what was posted to it."""
    bodies: list[bytes] = []

    class Hook(http.server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            bodies.append(self.rfile.read(int(self.headers["Content-Length"])))
            self.send_response(200)
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:
            pass

    with http.server.HTTPServer(("127.0.0.1", 0), Hook) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}/hook", bodies
        server.shutdown()
        thread.join()


def test_a_restart_is_recorded_told_by_status_and_reported(running: Desk) -> None:
    assert running.document("restart", "--unit", "nosuch", "--yes")["exit_code"] == 2
    restarted = running.document("restart", "--unit", "prefill", "--yes", "--reason", "a look at the lab")
    assert [step["name"] for step in restarted["steps"] if step["name"].startswith("restart")] == [
        "restart prefill",
        "restart decode",
    ]
    looked = [
        running.document(*words)
        for words in (["status"], ["releases"], ["logs", "--unit", "decode", "--since", "1h"])
    ]
    for document in (restarted, *looked):
        assert (document["exit_code"], jsonschemas.problems(document, "document")) == (0, [])
    last = looked[0]["status"]["last"]
    assert (last["id"], last["action"], last["reason"]) == (
        restarted["rollout"],
        "restart",
        "a look at the lab",
    )
    assert any("decode" in line for line in looked[2]["logs"][0]["lines"])


def test_logs_are_lines_to_be_piped_on_and_a_report_is_a_page(running: Desk) -> None:
    code, text = running.invoke("logs", "--unit", "decode", "--lines", "1")
    assert code == 0
    assert len(text.splitlines()) == 4  # that it is the lab, connected, the line, the verdict
    code, text = running.invoke("report", "--json")
    document = json.loads(text)
    assert (code, jsonschemas.problems(document, "report")) == (0, [])
    page = (running.directory / document["output"]).read_text()
    assert "SGLANG_OPT_USE_MULTI_STREAM_OVERLAP" in page


def test_a_webhook_hears_of_a_restart_and_one_that_is_gone_changes_nothing(running: Desk) -> None:
    path = running.directory / "hosts" / "lab.yml"
    shipped = path.read_text()
    with hook() as (url, bodies):
        path.write_text(
            f"{shipped}\nnotify:\n  - {{url: {url}, on: [started, passed]}}\n  - {{url: 'http://127.0.0.1:9/'}}\n"
        )
        code, text = running.invoke("restart", "--unit", "router", "--yes")
    path.write_text(shipped)
    assert code == 0
    assert [json.loads(body)["runbook"]["moment"] for body in bodies] == ["started", "passed"]
    assert text.count("127.0.0.1 was not notified") == 2


def test_verbose_tells_every_call(running: Desk) -> None:
    code, text = running.invoke("restart", "--unit", "router", "--yes", "-v")
    assert code == 0
    for call in ("> observe", "> lock", "> unit_restart", "> audit_append"):
        assert call in text
