"""An operator's desk in a fast-forward year: one rollout after the other on a host whose disk is real and whose time is not."""

from __future__ import annotations

import io
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from runbook import app, audit, notify, rollout
from runbook.calling import TellingWire
from runbook.events import Run
from runbook.model import Sessions
from runbook.options import Options
from runbook.request import Request
from runbook.view import View
from runbook.work import Work
from tests.endurance.directoryhost import CHANGING, DirectoryHost, declared
from tests.fakehost import sessions_result

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from runbook.story import Story
    from tests.fakehost import RunningUnit

KEEP = 5
VALIDATIONS = (Sessions("final80", 80, 3, 350, 2000, 260.0),)
RECEIVER = notify.Receiver("https://chat.example.net/hook", frozenset(("started", "passed", "failed")))
# What a round of rollouts is made of: most deploys are good, one corrupts, one crashes, and some edit nothing.
ROUND = ("good", "good", "corrupt", "good", "crash", "again", "verify", "rollback")
EXITS = (0, 0, 1, 0, 1, 0, 0, 0)


class Terminal(io.StringIO):
    """A terminal nobody looks at."""

    def isatty(self) -> bool:
        return True


@dataclass
class Desk:
    """`begin` lays host and project below a directory, `next` does one more rollout of the ROUND."""

    root: Path
    host: DirectoryHost
    value: str = "first"
    exits: list[int] = field(default_factory=list)

    @classmethod
    def begin(cls, root: Path) -> Desk:
        return cls(root, DirectoryHost(root / "host", host=declared(root / "host", "first")))

    @property
    def project(self) -> Path:
        return self.root / "project"

    @property
    def mirror(self) -> Path:
        """The copy of the host's audit chain in the project."""
        return audit.path_of(self.project, "gpu1")

    def next(self) -> None:
        """One more rollout, shown on a terminal or on none, told to a webhook, and mirrored here."""
        kind = ROUND[len(self.exits) % len(ROUND)]
        if kind in ("good", "corrupt", "crash"):
            self.value = str(len(self.exits))
        self.host.load = lambda argv: sessions_result(argv, corrupt=12 * (kind == "corrupt"))
        self.host.behave = _failing_with(self.value) if kind == "crash" else lambda unit: None
        self.exits.append(self._rollout(kind))

    def _rollout(self, kind: str) -> int:
        action = kind if kind in ("verify", "rollback") else "deploy"
        view = View(Terminal() if len(self.exits) % 2 else io.StringIO(), environ={"TERM": "xterm"})
        told = Run(view.listeners(), clock=self.host.clock)
        asked = Request(action, directory=self.project)
        document = app.document_of(asked, "gpu1", view, told, lambda run, name: self._page(action, run, name))
        return int(document["exit_code"])

    def _page(self, action: str, told: Run, name: str) -> Story:
        pages: dict[str, Callable[[Work, Options], Story]]
        pages = {"deploy": rollout.deploy, "verify": rollout.check, "rollback": rollout.rollback}
        begun = {"action": action, "host": "gpu1", "rollout": name}
        told.listen(notify.Outbox([RECEIVER], begun, say=told.note, post=lambda url, body: None))
        with self.host.working("running" if action == "verify" else "writing"):
            work = self._work(told, name)
            story = pages[action](work, Options())
            audit.mirror(work.wire, work.host, audit.directory(self.project), work.now())
        return story

    def _work(self, told: Run, name: str) -> Work:
        fake: Any = self.host
        return Work(
            host=declared(self.root / "host", self.value, validations=VALIDATIONS, keep_releases=KEEP),
            run=told,
            wire=TellingWire(fake, told.tell, fake.clock),
            tunnel=fake,
            rollout=name,
            operator={"user": "ann", "host": "laptop"},
            confirm=lambda question: True,
            sleep=fake.clock.sleep,
            clock=fake.clock,
            now=fake.clock.utc,
        )


def _failing_with(value: str) -> Callable[[RunningUnit], None]:
    """Units that start with this value and fail."""

    def behave(unit: RunningUnit) -> None:
        if unit.environ.get(CHANGING) == value:
            unit.active = "failed"

    return behave
