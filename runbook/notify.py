"""Notices of a rollout to webhooks, as JSON with a `text` that Slack and its like show.

They go out from a thread of their own: a receiver that hangs, fails or is gone holds up nothing and fails nothing.
"""

from __future__ import annotations

import contextlib
import http.client
import json
import queue
import threading
import time
import urllib.error
import urllib.request
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol
from urllib.parse import urlsplit

from runbook.events import Ended, StepEnded
from runbook.text import sentence
from runbook.verdict import Outcome

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from runbook.events import Event
    from runbook.model import Notice

ATTEMPTS = 3
TIMEOUT_S = 5.0  # of one attempt, a read each
PAUSES_S = (0.5, 2.0)
# At the end of a rollout notices under way are waited for so long, and then given up.
DEADLINE_S = 10.0
SCHEMA = 1
# Chats that take Slack's JSON, Mattermost and Discord among them, read `@all` and `@everyone` in a plain text too.
NO_MENTION = "@\u200b"
# Who changes the host has begun when the host's lock is taken; the others tell of their end alone.
_BEGINS = "lock"
_CHANGING = ("deploy", "rollback", "restart")


class Post(Protocol):
    """Delivers one body to a URL; raises OSError or HTTPException where it did not arrive."""

    def __call__(self, url: str, body: bytes, /) -> None: ...


@dataclass(frozen=True, slots=True)
class Receiver:
    """A webhook and the moments it hears of: started, passed, failed, rolled_back."""

    url: str
    on: frozenset[str]

    @property
    def label(self) -> str:
        """How messages name it: by its host alone, since the path of a webhook is its secret."""
        return urlsplit(self.url).hostname or "a receiver"

    def trouble(self, error: Exception) -> str:
        """What went wrong, without the URL: an error may quote any part of it."""
        if isinstance(error, ValueError | http.client.InvalidURL):
            return "its URL cannot be posted to"
        reason = getattr(error, "reason", error)  # a URLError wraps what went wrong
        return sentence(str(reason) or type(reason).__name__, 120)


def receivers(
    notices: Sequence[Notice], environ: Mapping[str, str], say: Callable[[str], None]
) -> list[Receiver]:
    """Those of a host file whose URL is known here; says which variable is not set."""
    found = []
    for notice in notices:
        url = (
            notice.url or environ.get(notice.url_env or "", "").strip()
        )  # read from a file, it ends its line
        if _is_web(url):
            found.append(Receiver(url, frozenset(notice.on)))
        else:
            say(f"nobody is notified: {notice.url_env} holds no URL here")
    return found


def _is_web(url: str) -> bool:
    try:
        parts = urlsplit(url)
    except ValueError:
        return False
    return parts.scheme in ("http", "https") and bool(parts.hostname)


def moments(document: Mapping[str, Any]) -> frozenset[str]:
    """What the end of a rollout is: passed or failed, and rolled_back where it went back, by itself or as asked."""
    ended = "passed" if document["outcome"] == Outcome.PASS.value else "failed"
    return frozenset({ended, "rolled_back"} if document["rolled_back_to"] else {ended})


def body(document: Mapping[str, Any], moment: str) -> bytes:
    """The JSON that is posted; everything but `text` stands under `runbook`."""
    keys = ("action", "host", "rollout", "outcome", "exit_code", "release", "rolled_back_to", "audit")
    told = {key: document.get(key) for key in keys}
    return json.dumps(
        {"text": text(document, moment), "runbook": {"schema": SCHEMA, "moment": moment, **told}}
    ).encode()


def text(document: Mapping[str, Any], moment: str) -> str:
    """One line; what a chat would take for a link or a mention of everybody is spelled out."""
    said = f"{document['action']} {document['host']} {moment.replace('_', ' ')}"
    if moment != "started":
        back = f" to {document['rolled_back_to']}" if document["rolled_back_to"] else ""
        why = _why(document)
        said += f"{back} (exit {document['exit_code']}){f': {why}' if why else ''}"
    line = sentence(f"{said}, rollout {document['rollout']}", 600)
    spelled = line.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return spelled.replace("@", NO_MENTION)


def _why(document: Mapping[str, Any]) -> str:
    """The error, else the first finding that failed."""
    failed = (
        f"{one['check']}: {one['message']}"
        for one in document["findings"]
        if one["outcome"] == Outcome.FAIL.value
    )
    return document["error"] or next(failed, "")


class Outbox:
    """A listener that tells receivers when a rollout begins and how it ended, and says what did not arrive.

    `post` delivers one body to a URL, `sleep` takes seconds; both are called from the outbox's own thread, which ends with
    the last notice or the program. After the end notices under way are waited for, at most `deadline_s`.
    """

    def __init__(
        self,
        receivers: Sequence[Receiver],
        rollout: Mapping[str, Any],
        *,
        say: Callable[[str], None],
        post: Post | None = None,
        sleep: Callable[[float], None] = time.sleep,
        deadline_s: float = DEADLINE_S,
    ) -> None:
        self._receivers, self._say = receivers, say
        self._begun = {"findings": [], "error": None, "rolled_back_to": None, **rollout}
        self._post, self._sleep, self._deadline_s = post or deliver, sleep, deadline_s
        self._started = False
        self._waiting: queue.SimpleQueue[tuple[Receiver, bytes] | None] = queue.SimpleQueue()
        self._left = 0
        self._troubles: list[str] = []
        self._done = threading.Condition()
        if receivers:
            threading.Thread(target=self._deliver, name="notices", daemon=True).start()

    def __call__(self, event: Event) -> None:
        if isinstance(event, StepEnded) and event.name == _BEGINS and event.outcome is Outcome.PASS:
            if not self._started:
                self._send(self._begun, ["started"])
            self._started = True
        elif isinstance(event, Ended):
            self._end(event.document)

    def _end(self, document: Mapping[str, Any]) -> None:
        """A change that never began, or a rollout that left no record, is nobody's news."""
        if self._started or (document["action"] not in _CHANGING and document["audit"]):
            held = moments(document)
            self._send(document, [moment for moment in ("rolled_back", "failed", "passed") if moment in held])
        self._waiting.put(None)
        with contextlib.suppress(
            KeyboardInterrupt
        ):  # a person who will not wait loses a notice, not the exit code
            self._wait()
        with self._done:
            for trouble in self._troubles:
                self._say(trouble)

    def _send(self, document: Mapping[str, Any], told: Sequence[str]) -> None:
        """One notice a receiver, of the first of these moments that it hears of."""
        for receiver in self._receivers:
            moment = next((one for one in told if one in receiver.on), None)
            if moment is not None:
                with self._done:
                    self._left += 1
                self._waiting.put((receiver, body(document, moment)))

    def _wait(self) -> None:
        with self._done:
            if not self._done.wait_for(lambda: not self._left, timeout=self._deadline_s):
                self._troubles.append(f"{self._left} notices did not go out within {self._deadline_s:g} s")

    def _deliver(self) -> None:
        while (notice := self._waiting.get()) is not None:
            receiver, content = notice
            trouble = self._tried(receiver, content)
            with self._done:
                if trouble:
                    self._troubles.append(f"{receiver.label} was not notified: {trouble}")
                self._left -= 1
                self._done.notify_all()

    def _tried(self, receiver: Receiver, content: bytes) -> str | None:
        """Post it up to ATTEMPTS times; why it did not arrive, None where it did."""
        trouble = ""
        for attempt in range(ATTEMPTS):
            if attempt:
                self._sleep(PAUSES_S[attempt - 1])
            try:
                self._post(receiver.url, content)
            except urllib.error.HTTPError as error:
                error.close()
                trouble = f"HTTP {error.code}"
                if error.code < 500 and error.code != http.HTTPStatus.TOO_MANY_REQUESTS:
                    return trouble
            except (OSError, http.client.HTTPException, ValueError) as error:
                trouble = receiver.trouble(error)
            else:
                return None
        return f"{trouble} ({ATTEMPTS} tries)"


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """A redirect is an answer like any other: followed, a POST would become a GET somewhere else."""

    def redirect_request(self, *args: Any, **kwargs: Any) -> None:
        return None


def deliver(url: str, content: bytes) -> None:
    """POST JSON; by the proxy of the environment where there is one. Raises OSError, of which HTTPError is one."""
    request = urllib.request.Request(url, content, {"Content-Type": "application/json"}, method="POST")
    # Its status is the answer: what follows may be late, cut short or without end.
    urllib.request.build_opener(_NoRedirects).open(request, timeout=TIMEOUT_S).close()
