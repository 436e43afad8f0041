"""The control arm: the same validation where the fault should not show, at low concurrency or on another server.

A model's copying errors come at the same rate in both arms; damage under load does not. Soft defects likewise.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from runbook.load.address import has_secret, is_http, without_secret
from runbook.load.outcome import Finding, Outcome, worst
from runbook.load.refusing import BadArgumentsError
from runbook.load.statistics import fisher_greater
from runbook.load.verdict import ALLOWED_SLIPS

if TYPE_CHECKING:
    from runbook.load.options import Options
    from runbook.load.results import SessionsResult

SIGNIFICANT = 0.01
AUTOMATIC = "concurrency=4"


@dataclass(frozen=True, slots=True)
class Control:
    """How the control arm differs: by its concurrency, or by its server."""

    concurrency: int | None = None
    url: str | None = None

    @property
    def text(self) -> str:
        """How it differs, for people."""
        return f"at {self.url}" if self.url else f"at concurrency {self.concurrency}"

    def applied(self, options: Options) -> Options:
        """The control arm's options: new nonces, no early stop, no demand on its concurrency."""
        return dataclasses.replace(
            options,
            tag=f"{options.tag}-control",
            seed=options.seed + 1_000_003,
            base_url=self.url or options.base_url,
            concurrency=self.concurrency or options.concurrency,
            early_stop=False,
            soak_s=0.0,
        )


def parse_control(text: str) -> Control:
    """`concurrency=4` or `url=http://…`; raises BadArgumentsError for anything else."""
    name, _, value = text.partition("=")
    if name == "concurrency" and value.isdigit() and int(value) > 0:
        return Control(concurrency=int(value))
    if name == "url" and is_http(value) and not has_secret(value):
        return Control(url=value)
    raise BadArgumentsError(
        f"--control should be concurrency=N or url=http://…, found {without_secret(text)!r}"
    )


def needs_control(result: SessionsResult) -> bool:
    """Whether only a control arm can tell a model's habits from damage: copying or soft defects, nothing hard."""
    return not result.corrupt and max(result.slips, result.soft) > ALLOWED_SLIPS


def with_control(
    result: SessionsResult, control: SessionsResult, *, same_server: bool = True
) -> tuple[Finding, ...]:
    """The run's findings with copying and soft defects judged between the arms by Fisher's exact test.

    `same_server`: the arms differ by their load alone.
    """
    others = tuple(finding for finding in result.findings if finding.check != "copying")
    copying = next(finding for finding in result.findings if finding.check == "copying")
    return (
        *others,
        _slips(result, control, copying),
        *_soft(result, control),
        _conclusive(control, same_server),
    )


def without_control(why: str) -> Finding:
    """The arm was called for and could not be run."""
    return Finding("control", Outcome.INCONCLUSIVE, f"no control arm: {why}")


def concluded(result: SessionsResult, findings: tuple[Finding, ...]) -> SessionsResult:
    """The same run with these findings, and the outcome that follows from them."""
    outcome = worst(finding.outcome for finding in findings)
    return dataclasses.replace(result, findings=findings, outcome=outcome)


def arm(result: SessionsResult) -> dict[str, Any]:
    """What the result keeps of a control arm."""
    kept = (
        "name",
        "outcome",
        "sessions",
        "judged",
        "counts",
        "corrupt",
        "slips",
        "soft",
        "peak_concurrency",
        "streams",
    )
    document = result.to_json()
    return {name: document[name] for name in kept}


def _slips(result: SessionsResult, control: SessionsResult, copying: Finding) -> Finding:
    chance = fisher_greater(result.slips, result.judged, control.slips, control.judged)
    message = _arms("slips or miscopies", result.slips, control.slips, result, control, chance)
    like_control = Outcome.PASS if result.slips <= ALLOWED_SLIPS else Outcome.INCONCLUSIVE
    outcome = Outcome.FAIL if chance < SIGNIFICANT else like_control
    return Finding("copying", outcome, message, copying.evidence)


def _soft(result: SessionsResult, control: SessionsResult) -> tuple[Finding, ...]:
    if not result.soft:
        return ()
    chance = fisher_greater(result.soft, result.judged, control.soft, control.judged)
    outcome = Outcome.FAIL if chance < SIGNIFICANT else Outcome.PASS
    message = _arms("soft defects", result.soft, control.soft, result, control, chance)
    return (Finding("soft", outcome, message),)


def _conclusive(control: SessionsResult, same_server: bool) -> Finding:
    """The arms are only comparable when the control sessions were answered, and came out clean.

    A hard finding stands alone, also in this arm: where it is of the same server, that server fails.
    """
    if control.corrupt:
        message = f"control arm: {control.corrupt} of {control.judged} judged sessions corrupt"
        return Finding("control", Outcome.FAIL if same_server else Outcome.INCONCLUSIVE, message)
    answered = control.judged > 0 and control.infra == 0
    message = f"control arm: {control.judged} sessions, {control.infra} without an answer"
    return Finding("control", Outcome.PASS if answered else Outcome.INCONCLUSIVE, message)


def _arms(
    what: str, events: int, other: int, result: SessionsResult, control: SessionsResult, chance: float
) -> str:
    return (
        f"{events} of {result.judged} sessions with {what}, {other} of {control.judged} in the control arm: "
        f"Fisher p = {chance:.2g}, below {SIGNIFICANT:g} is a fail"
    )
