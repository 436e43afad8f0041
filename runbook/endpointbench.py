"""`bench` without a host: bench any OpenAI-compatible server from here, by its URL."""

from __future__ import annotations

import contextlib
import os
from typing import TYPE_CHECKING, Any

from runbook import app, loadhere
from runbook.errors import RunbookError, UsageError
from runbook.events import Run
from runbook.story import Story
from runbook.validations import bench
from runbook.verify import benching

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from runbook.load.bench.settings import Settings
    from runbook.load.bench.sweep import Bench as Measured
    from runbook.load.saying import Say
    from runbook.model import Bench
    from runbook.options import Options
    from runbook.request import Request
    from runbook.validations.bench import Judged


def run(request: Request) -> int:
    """Bench a URL; returns the exit code."""
    view = app.view_of(request)
    told = Run(view.listeners())
    document = app.document_of(
        request, request.url or "", view, told, lambda told, rollout: page(request, told, rollout)
    )
    app.finish(request, view, [document], ())
    return int(document["exit_code"])


def page(request: Request, told: Run, rollout: str) -> Story:
    """Bench it, keep what is to be kept, and compare."""
    from runbook.load.bench.saved import requests
    from runbook.load.bench.sweep import announced

    story = Story("bench", str(request.url), rollout, told.steps, told.findings)
    options, story.extra["against"] = request.options, request.options.against
    spec = bench.chosen(bench.DEFAULT, options.load_options)
    settings = read(request.url or "", spec, os.environ)
    _require_like(options, _before(settings))
    if options.dry_run:
        told.note(f"would bench {request.url} from here: {announced(settings)}")
        return story
    with told.step("bench", budget_s=settings.budget_s) as step:
        tell = benching.teller(told, step)
        made = measure(settings, lambda text, /, **fields: tell(text, fields))
        story.measured.bench, story.measured.baseline = made.result.to_json(), options.baseline
        step.outcome = made.result.outcome
    if "tell-requests" in spec.options:
        story.measured.requests.extend(requests(made.runs))
    told.show("bench", bench.alone(story.measured.bench))
    with _measured_all_the_same(story):
        app.keep_bench(request, told, story)
        _require_like(options, made.result.fingerprint)
        judged = _judged(story.measured.bench, spec, options)
        story.measured.comparison = judged.comparison
        if judged.comparison is not None:
            told.show("bench", judged)
        told.find(*judged.findings)
    return story


@contextlib.contextmanager
def _measured_all_the_same(story: Story) -> Iterator[None]:
    """An error after the load ends the story, which still holds what was measured."""
    try:
        yield
    except RunbookError as error:
        story.error = error


def read(url: str, spec: Bench, environ: Mapping[str, str]) -> Settings:
    """The bench that the command line asks for. Raises UsageError with one line for what makes no sense."""
    from runbook.load.bench.options import settings_from
    from runbook.load.refusing import BadArgumentsError

    words = [f"--{name}" if text == "true" else f"--{name}={text}" for name, text in spec.options.items()]
    try:
        return settings_from([f"--base-url={url}", *words], environ)
    except BadArgumentsError as error:
        raise UsageError(str(error).replace("--base-url", "--url")) from error


def _before(settings: Settings) -> dict[str, Any]:
    """The fingerprint as far as it is known before the server was asked."""
    from runbook.load.bench.fingerprint import fingerprint

    return fingerprint(settings.workload, {"version": None, "arguments": {}, "gpu": {}})


def _require_like(options: Options, current: Mapping[str, Any]) -> None:
    if options.baseline is not None:
        bench.require_like(options.baseline, current, options.against)


def measure(settings: Settings, say: Say) -> Measured:
    """Load the server; raises as `loadhere.run`."""
    from runbook.load.bench.sweep import run_bench

    return loadhere.run(run_bench(settings, say), "bench")


def _judged(result: Mapping[str, Any], spec: Bench, options: Options) -> Judged:
    return bench.alone(result) if options.baseline is None else bench.judge(result, options.baseline, spec)
