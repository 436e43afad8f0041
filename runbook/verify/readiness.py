"""Waiting for a real chat completion through the endpoint users call, the router's circuit breaker included."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import TYPE_CHECKING

from runbook import probes
from runbook.observation import read_file
from runbook.probes import Sample, breaker, ready, unit
from runbook.tunnel import TunnelError
from runbook.verdict import Finding, Outcome

if TYPE_CHECKING:
    from runbook.events import Step
    from runbook.model import Budget, Unit
    from runbook.work import Work


def wait(work: Work, step: Step) -> Finding:
    """Wait until a chat comes back. Only asked while every worker is healthy, or the router's breaker would open."""
    endpoint = work.host.endpoint
    if endpoint is None or endpoint.url is None:
        return Finding("ready", Outcome.INCONCLUSIVE, "no unit has a url: nothing to send a chat to")
    chats = _Chats(work, endpoint, endpoint.url, work.host.wait.ready)
    asked = probes.until(
        chats.ask,
        lambda: chats.budget,
        sleep=work.pause,
        clock=work.clock,
        on_try=lambda attempt, sample: probes.tell_try(step, chats.budget, attempt, sample),
    )
    found = probes.finding("ready", endpoint.role, asked, chats.budget)
    told = found if asked.sample.holds or chats.router is None else _with_table(found, chats.workers())
    return work.run.probed(told)


def _with_table(found: Finding, rows: list[str]) -> Finding:
    """The finding, with what the router itself says of its workers."""
    told = "; ".join(rows) or "it shows none"
    return dataclasses.replace(
        found,
        message=f"{found.message}; the router's own workers: {told}",
        evidence={**found.evidence, "workers": rows},
    )


@dataclass(slots=True)
class _Chats:
    """Chats through one endpoint. The first that fails finds out whether a router stands there, and how long its breaker
    stays open: from then on `budget` outlasts it."""

    work: Work
    endpoint: Unit
    url: str
    budget: Budget
    router: breaker.Breaker | None = None
    failed_at: float | None = None

    def ask(self) -> Sample:
        work = self.work
        work.checkpoint()
        answer = ready.ask(
            work.tunnel, self.url, work.host.model, max_tokens=work.host.wait.ready_max_tokens,
            timeout_s=self.budget.timeout_s, api_key=work.api_key,
        )  # fmt: skip
        if answer.holds or answer.final:
            return answer
        return self._past_hope() or self._explained(answer)

    def _past_hope(self) -> Sample | None:
        """The unit that no waiting brings back, if there is one. Over a dead link this raises, where a chat only times out."""
        shown = self.work.wire.call("units", units=[one.name for one in self.work.host.units])
        for name, properties in shown.items():
            if (state := unit.judge(properties)).final:
                return dataclasses.replace(state, text=f"{name}: {state.text}")
        return None

    def _explained(self, answer: Sample) -> Sample:
        if self.failed_at is None:
            self.failed_at = self.work.clock()
            self.router = _router(self.work, self.endpoint)
            self.budget = self.router.outlasted(self.budget) if self.router else self.budget
        if self.router is None or not self.router.timeout_s:
            return answer
        waited_s = self.work.clock() - self.failed_at
        return dataclasses.replace(answer, text=self.router.told(waited_s, answer.text))

    def workers(self) -> list[str]:
        try:
            answer = self.work.tunnel.get(f"{self.url}/workers", deadline_s=self.budget.timeout_s)
        except TunnelError:
            return []
        return breaker.workers(answer.body)


def _router(work: Work, endpoint: Unit) -> breaker.Breaker | None:
    """The breaker of the endpoint where it is a router, from what starts it: its process blanks its own command line."""
    found = work.wire.call("serving", units=[endpoint.name], words=[])[endpoint.name]
    texts = [found["properties"].get("ExecStart", "")]
    if path := endpoint.script or found["script"]:
        texts.append((read_file(work.wire, work.host, path).content or b"").decode("utf-8", "replace"))
    return breaker.of_router(texts)
