from __future__ import annotations

import http.server
import json
import socket
import threading
import time
import urllib.error
from email.message import Message
from typing import TYPE_CHECKING, Any

import pytest

from runbook import notify
from runbook.events import Ended, StepEnded
from runbook.model import Notice
from runbook.notify import Outbox, Receiver
from runbook.verdict import Outcome
from tests.showing_events import document

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

ALL = frozenset({"started", "failed", "rolled_back", "passed"})
ROLLOUT = {"action": "deploy", "host": "gpu1", "rollout": "r"}
LOCKED = StepEnded("lock", Outcome.PASS, 0.0)
FAILED = document(
    outcome="fail", exit_code=1, findings=[{"check": "a", "outcome": "fail", "message": "3 of 80"}]
)


@pytest.fixture(autouse=True)
def _delivered(request: pytest.FixtureRequest) -> Iterator[None]:
    """What a test has still to deliver ends with it: the next test may be one that reaches no network."""
    yield
    for thread in threading.enumerate() if request.node.get_closest_marker("real") else ():
        if thread.name == "notices":
            thread.join(10)


class Inbox:
    """Takes what is posted, or fails with what it is told to, once for each."""

    def __init__(self, *failures: Exception) -> None:
        self.failures = list(failures)
        self.bodies: list[dict[str, Any]] = []

    def __call__(self, url: str, content: bytes, /) -> None:
        if self.failures:
            raise self.failures.pop(0)
        self.bodies.append(json.loads(content))

    @property
    def moments(self) -> list[str]:
        return [body["runbook"]["moment"] for body in self.bodies]


def told(
    inbox: Inbox, ended: Mapping[str, Any], *, on: frozenset[str] = ALL, locked: bool = True
) -> list[str]:
    """Tell a rollout from its lock to its end; what was said of notices that did not arrive."""
    said: list[str] = []
    outbox = Outbox(
        [Receiver("http://hook.example.net/secret", on)],
        ROLLOUT,
        say=said.append,
        post=inbox,
        sleep=lambda s: None,
    )
    if locked:
        outbox(LOCKED)
    outbox(Ended(ended))
    return said


@pytest.mark.parametrize(
    ("ended", "moments"),
    [
        (document(), ["started", "passed"]),
        (FAILED, ["started", "failed"]),
        (document(outcome="inconclusive", exit_code=3), ["started", "failed"]),
        (FAILED | {"rolled_back_to": "r1"}, ["started", "rolled_back"]),
        (document(action="rollback", rolled_back_to="r1"), ["started", "rolled_back"]),
    ],
)  # fmt: skip
def test_a_rollout_is_told_at_its_beginning_and_its_end(ended: Mapping[str, Any], moments: list[str]) -> None:
    inbox = Inbox()
    assert told(inbox, ended) == []
    assert inbox.moments == moments


@pytest.mark.parametrize(
    ("on", "moments"),
    [
        ({"failed"}, ["failed"]),
        ({"rolled_back"}, ["rolled_back"]),
        ({"passed"}, []),
        ({"started"}, ["started"]),
    ],
)
def test_a_receiver_hears_of_the_moments_it_asked_for_and_of_each_end_once(
    on: set[str], moments: list[str]
) -> None:
    inbox = Inbox()
    told(inbox, FAILED | {"rolled_back_to": "r1"}, on=frozenset(on))
    assert inbox.moments == moments


def test_a_change_that_never_began_is_nobodys_news_and_a_verify_tells_of_its_end_alone() -> None:
    inbox = Inbox()
    told(inbox, FAILED, locked=False)
    assert inbox.moments == []
    told(inbox, document(action="verify"), locked=False)
    assert inbox.moments == ["passed"]


def test_a_notice_says_what_happened_and_can_ping_nobody() -> None:
    inbox = Inbox()
    told(inbox, FAILED | {"error": "<!channel> & <http://x|click>\n\x1b[2J"})
    text = inbox.bodies[-1]["text"]
    assert text.startswith("deploy gpu1 failed (exit 1): &lt;!channel&gt; &amp; &lt;http://x|click&gt;")
    assert "\x1b" not in text
    assert inbox.bodies[-1]["runbook"]["exit_code"] == 1
    told(inbox, FAILED | {"error": "@channel @everyone ann@example.net"})
    assert "@c" not in inbox.bodies[-1]["text"]
    assert "@e" not in inbox.bodies[-1]["text"]


def answer(code: int) -> urllib.error.HTTPError:
    return urllib.error.HTTPError("http://x", code, "", Message(), None)


@pytest.mark.parametrize(
    "failure", [answer(500), answer(429), TimeoutError("timed out"), ConnectionRefusedError()]
)
def test_what_may_pass_is_tried_again(failure: Exception) -> None:
    inbox = Inbox(failure, failure)
    assert told(inbox, document(), on=frozenset({"passed"})) == []
    assert inbox.moments == ["passed"]


def test_what_will_not_pass_is_tried_once_and_said_without_the_path_which_is_the_secret() -> None:
    inbox = Inbox(answer(404))
    assert told(inbox, document(), on=frozenset({"passed"})) == [
        "hook.example.net was not notified: HTTP 404"
    ]
    assert inbox.moments == []


def test_tries_end() -> None:
    inbox = Inbox(*[answer(503)] * 9)
    assert told(inbox, document(), on=frozenset({"passed"})) == [
        "hook.example.net was not notified: HTTP 503 (3 tries)"
    ]
    assert len(inbox.failures) == 6


def test_a_variable_that_is_not_set_is_said_and_notifies_nobody() -> None:
    said: list[str] = []
    notices = [
        Notice(("passed",), url_env="HOOK"),
        Notice(("failed",), url="https://ci.example.net/x"),
        Notice(("failed",), url_env="OTHER"),
    ]
    found = notify.receivers(
        notices, {"HOOK": "https://a.example.net/b", "OTHER": "file:///etc/passwd"}, said.append
    )
    assert [one.label for one in found] == ["a.example.net", "ci.example.net"]
    assert said == ["nobody is notified: OTHER holds no URL here"]


@pytest.mark.parametrize("url", ["https://[hook/secret", "https:///secret", "hook.example.net/secret", "\n"])
def test_what_is_no_url_notifies_nobody_and_is_not_shown(url: str) -> None:
    said: list[str] = []
    assert notify.receivers([Notice(("failed",), url_env="HOOK")], {"HOOK": url}, said.append) == []
    assert said == ["nobody is notified: HOOK holds no URL here"]


def test_a_url_may_end_its_line() -> None:
    (found,) = notify.receivers(
        [Notice(("failed",), url_env="HOOK")], {"HOOK": " https://hook.example.net/x\n"}, print
    )
    assert found.url == "https://hook.example.net/x"


@pytest.mark.parametrize(
    "url",
    ["http://127.0.0.1:9/se cret", "http://127.0.0.1:secret/x", "http://ann:secret@127.0.0.1/x", "http://127.0.0.1/\xe4secret"],
)  # fmt: skip
def test_a_url_that_cannot_be_posted_to_is_told_without_any_part_of_it(url: str) -> None:
    said: list[str] = []
    outbox(url, said)(Ended(document(action="verify")))
    assert said == ["127.0.0.1 was not notified: its URL cannot be posted to (3 tries)"]


# ------------------------------------------------------------------ the real path


class Hook(http.server.BaseHTTPRequestHandler):
    answers = 200
    bodies: list[bytes]
    more: tuple[tuple[str, str], ...] = ()

    def do_POST(self) -> None:
        self.bodies.append(self.rfile.read(int(self.headers["Content-Length"])))
        self.send_response(self.answers)
        self.send_header("Location", "/elsewhere")
        for name, value in self.more:
            self.send_header(name, value)
        self.end_headers()

    def log_message(self, format: str, *args: Any) -> None:
        pass


@pytest.fixture
def hook() -> Iterator[tuple[type[Hook], str]]:
    handler = type("AHook", (Hook,), {"bodies": []})
    with http.server.HTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        yield handler, f"http://127.0.0.1:{server.server_address[1]}/hook"
        server.shutdown()
        thread.join()


def outbox(url: str, said: list[str], deadline_s: float = 5.0) -> Outbox:
    return Outbox([Receiver(url, ALL)], ROLLOUT, say=said.append, sleep=lambda s: None, deadline_s=deadline_s)


@pytest.mark.real
def test_a_webhook_gets_json(hook: tuple[type[Hook], str]) -> None:
    handler, url = hook
    said: list[str] = []
    sent = outbox(url, said)
    sent(LOCKED)
    sent(Ended(document()))
    assert said == []
    assert [json.loads(body)["runbook"]["moment"] for body in handler.bodies] == ["started", "passed"]


@pytest.mark.real
@pytest.mark.parametrize(("code", "posts"), [(500, 3), (302, 1), (404, 1)])
def test_a_webhook_that_fails_fails_nothing_else(hook: tuple[type[Hook], str], code: int, posts: int) -> None:
    handler, url = hook
    handler.answers = code
    said: list[str] = []
    outbox(url, said)(Ended(document(action="verify")))
    assert len(handler.bodies) == posts
    assert said == [f"127.0.0.1 was not notified: HTTP {code}{' (3 tries)' if posts > 1 else ''}"]


@pytest.mark.real
def test_a_webhook_that_is_gone_is_said() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    said: list[str] = []
    outbox(f"http://127.0.0.1:{port}/", said)(Ended(document(action="verify")))
    assert len(said) == 1
    assert "refused" in said[0]


@pytest.mark.real
def test_a_webhook_that_hangs_holds_nothing_up_but_the_end_and_that_for_its_deadline() -> None:
    said: list[str] = []
    with socket.create_server(("127.0.0.1", 0)) as silent:
        sent = outbox(f"http://127.0.0.1:{silent.getsockname()[1]}/", said, deadline_s=0.2)
        began = time.monotonic()
        sent(LOCKED)
        assert time.monotonic() - began < notify.TIMEOUT_S / 2
        sent(Ended(document()))
        assert time.monotonic() - began < notify.TIMEOUT_S / 2
    assert said == ["2 notices did not go out within 0.2 s"]


@pytest.mark.real
def test_a_notice_that_was_taken_is_not_sent_again_for_an_answer_cut_short(
    hook: tuple[type[Hook], str],
) -> None:
    handler, url = hook
    handler.more = (("Transfer-Encoding", "chunked"),)
    said: list[str] = []
    outbox(url, said)(Ended(document(action="verify")))
    assert (said, len(handler.bodies)) == ([], 1)
