"""Plays a worker or the router of the service on a test host: `server.py ROLE [PORT]`; standard library only.

A worker answers /health; decode, and a server that stands alone, answer chat; the router hands chat on to decode while
every worker is healthy.
STANDIN_CRASH ends it at once; STANDIN_TITLE writes a title over what /proc shows of it, as SGLang's schedulers do:
`memory` by hand, `setproctitle` with that package.
"""

from __future__ import annotations

import ctypes
import http.client
import importlib
import json
import os
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

PORTS = {"prefill": 30000, "router": 30001, "decode": 30002, "server": 30000}
CHAT = "/v1/chat/completions"
MODEL = "deepseek-v4-flash"


class Handler(BaseHTTPRequestHandler):
    """One request; the role is the server's."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        if self.path == "/health":
            self._answer(200, {})
        elif self.path == "/v1/models":
            self._answer(200, {"object": "list", "data": [{"id": MODEL, "object": "model"}]})
        else:
            self._answer(404, {})

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if self.path != CHAT:
            self._answer(404, {})
        elif self._role == "router":
            self._answer(*_handed_on(body))
        else:
            self._answer(*_completion(json.loads(body)))

    @property
    def _role(self) -> str:
        return sys.argv[1]

    def _answer(self, status: int, document: dict[str, Any]) -> None:
        content = json.dumps(document).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *args: Any) -> None:
        """The journal is for what the tests look for."""


def _completion(asked: dict[str, Any]) -> tuple[int, dict[str, Any]]:
    if asked.get("model") != MODEL:
        return 404, {"error": {"message": f"model {asked.get('model')} does not exist"}}
    message = {"role": "assistant", "content": "ready."}
    usage = {"prompt_tokens": 4, "completion_tokens": 2, "total_tokens": 6}
    choice = {"index": 0, "message": message, "finish_reason": "stop"}
    return 200, {"model": MODEL, "object": "chat.completion", "choices": [choice], "usage": usage}


def _handed_on(body: bytes) -> tuple[int, dict[str, Any]]:
    for role in ("prefill", "decode"):
        if _ask(role, "GET", "/health")[0] != 200:
            return 503, {"error": {"message": f"no healthy {role} worker"}}
    return _ask("decode", "POST", CHAT, body)


def _ask(role: str, method: str, path: str, body: bytes | None = None) -> tuple[int, dict[str, Any]]:
    connection = http.client.HTTPConnection("127.0.0.1", PORTS[role], timeout=5)
    try:
        connection.request(method, path, body)
        response = connection.getresponse()
        return response.status, json.loads(response.read() or b"{}")
    except OSError:
        return 502, {}
    finally:
        connection.close()


def _retitle(how: str) -> None:
    if how == "setproctitle":
        sys.path.insert(0, str(Path(__file__).parent))
        importlib.import_module("setproctitle").setproctitle("sglang::scheduler")
    elif how == "memory":
        fields = Path("/proc/self/stat").read_text().rpartition(")")[2].split()
        begin, end = int(fields[45]), int(fields[48])  # arg_start, env_end (proc(5)); fields[0] is the third
        title = b"sglang::scheduler"
        ctypes.memset(begin, 0, end - begin)
        ctypes.memmove(begin, title, len(title))


def main() -> None:
    """Serve until killed."""
    if os.environ.get("STANDIN_CRASH"):
        sys.exit("told to crash")
    _retitle(os.environ.get("STANDIN_TITLE", ""))
    port = int(sys.argv[2]) if len(sys.argv) > 2 else PORTS[sys.argv[1]]
    ThreadingHTTPServer(("127.0.0.1", port), Handler).serve_forever()


if __name__ == "__main__":
    main()
