"""`validate` without a host: load any OpenAI-compatible server from here, or judge kept raw streams again."""

from __future__ import annotations

import contextlib
import dataclasses
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from runbook import app, loadhere
from runbook.errors import UsageError
from runbook.events import Run
from runbook.story import Story
from runbook.verify import loading

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from runbook.load.arguments import Asked
    from runbook.load.results import SessionsResult
    from runbook.load.saying import Say
    from runbook.request import Request

# Options of `python -m runbook.load repro` that are said otherwise here, or mean nothing here.
OWN = frozenset(("base-url", "jsonl", "replay"))
_OURS = "[0-9]*T[0-9]*-*.jsonl.gz"  # by the id of a rollout; a file of another name is somebody's own


def run(request: Request) -> int:
    """Validate a URL, or replay a file; returns the exit code."""
    view = app.view_of(request)
    told = Run(view.listeners())
    page, name = (replay, request.replay) if request.replay else (validate, shown(request.url))
    document = app.document_of(request, name, view, told, lambda told, rollout: page(request, told, rollout))
    app.finish(request, view, [document], ())
    return int(document["exit_code"])


def validate(request: Request, told: Run, rollout: str) -> Story:
    """Run agent sessions with known right answers against the server at a URL, from this process."""
    story = Story("validate", shown(request.url), rollout, told.steps, told.findings)
    asked = read(request.url or "", request.load_options, os.environ)
    asked = dataclasses.replace(asked, streams=asked.streams or _kept_streams(request.directory, rollout))
    options = asked.options
    with told.step(f"validate {options.tag}", budget_s=options.timeout_s * options.waves) as step:
        result = measure(asked, lambda text, /, **fields: step.progress(text, **fields)).to_json()
        findings = loading.judged(story.measured, step, result)
    told.show("validation", result)
    told.find(*findings)
    return story


def shown(url: str | None) -> str:
    """The URL as a document may hold it."""
    from runbook.load.address import without_secret

    return without_secret(url or "")


def read(url: str, options: Mapping[str, str], environ: Mapping[str, str]) -> Asked:
    """The run that the command line asks for. Raises UsageError with one line for what makes no sense."""
    from runbook.load import arguments, refusing

    if foreign := sorted(OWN & options.keys()):
        raise UsageError(f"--option {foreign[0]} means nothing here")
    given = [f"--{name}" if value == "true" else f"--{name}={value}" for name, value in options.items()]
    try:
        args = refusing.parsed([f"--base-url={url}", *given], arguments.add_arguments)
        return arguments.asked_of(args, environ)
    except refusing.BadArgumentsError as error:
        raise UsageError(str(error).replace("--base-url", "--url")) from error


def measure(asked: Asked, say: Say) -> SessionsResult:
    """Load the server; raises as `loadhere.run`."""
    from runbook.load.run import run_validation

    return loadhere.run(run_validation(asked, say), "run")


def replay(request: Request, told: Run, rollout: str) -> Story:
    """Judge the raw streams of a file by today's rules; asks nobody."""
    from runbook.load import replay as kept

    path = Path(request.replay or "")
    story = Story("validate", str(path), rollout, told.steps, told.findings)
    with _readable(path):
        options, records = kept.replay(path)
    found = kept.finding_of(records)
    story.extra["replay"] = _document(path, options.to_json(), len(records), found.evidence)
    told.show("replay", story.extra["replay"])
    told.find(found)
    return story


def _document(path: Path, run: Mapping[str, Any], kept: int, evidence: Mapping[str, Any]) -> dict[str, Any]:
    return {"file": str(path), "name": run["tag"], "run": dict(run), "kept": kept, **evidence}


@contextlib.contextmanager
def _readable(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror or error}") from error
    except ValueError as error:
        raise UsageError(str(error)) from error


def _kept_streams(directory: Path, rollout: str) -> Path:
    """Where raw streams of unclean sessions go; only their owner may read them. Those of the last runs stay."""
    from runbook.load import streams

    folder = directory / ".runbook" / "streams"
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        streams.prune(folder, _OURS)
    except OSError as error:
        raise UsageError(f"{folder}: {error.strerror}; --streams FILE puts them elsewhere") from error
    return folder / f"{rollout}.jsonl.gz"
