"""Judging kept streams again, offline: the same scripts from the same seed, the same judge."""

from __future__ import annotations

import contextlib
import dataclasses
import random
from itertools import groupby
from typing import TYPE_CHECKING, Any

from runbook.load.exchange import turns
from runbook.load.judgement import judge_turn
from runbook.load.nonces import Registry
from runbook.load.options import MOST_VALUES, TOKENS_A_LINE, Options
from runbook.load.outcome import Finding, Outcome
from runbook.load.story import Record, Story
from runbook.load.streams import NoStreamFileError, read_streams
from runbook.load.swarm import waves_of_scripts
from runbook.load.verdict import counts, evidence, judged

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from runbook.load.exchange import Answer
    from runbook.load.script import Script
    from runbook.load.streams import Kept


_KINDS = {
    "int": (int,),
    "float": (int, float),
    "str": (str,),
    "bool": (bool,),
    "None": (type(None),),
    "Mapping": (dict,),
}


def replay(path: Path) -> tuple[Options, list[Record]]:
    """The kept sessions of a streams file, judged by today's rules. Raises NoStreamFileError and OSError."""
    run, kept = read_streams(path)
    options = _options(path, run)
    waves = 1 + max((one.wave for one in kept), default=0)
    _require_few_enough(path, options, waves)
    try:
        return options, list(_judged(kept, options))
    except LookupError as error:
        raise NoStreamFileError(f"{path}: a session or turn that the run did not have: {error}") from error


def _judged(kept: Sequence[Kept], options: Options) -> Iterator[Record]:
    """Each session, before the next wave is drawn as in the run: with it the registry forgets."""
    registry = Registry(random.Random(options.seed))
    written = waves_of_scripts(options, registry)
    at = -1
    scripts: dict[int, Script] = {}
    ordered = sorted(kept, key=lambda one: (one.wave, one.session, one.turn))
    for (wave, session), ones in groupby(ordered, key=lambda one: (one.wave, one.session)):
        while at < wave:
            at, scripts = at + 1, {script.session: script for script in next(written)}
        yield _again(scripts[session], list(ones), registry, options)


def finding_of(records: Sequence[Record]) -> Finding:
    """What kept sessions come to. Clean ones were not kept: so this is no rate, and without a judged one no answer."""
    corrupt = [record for record in records if record.corrupt]
    message = f"{len(corrupt)} of {len(records)} kept sessions corrupt by today's rules, {counts(records)}"
    clean = Outcome.PASS if judged(records) else Outcome.INCONCLUSIVE
    outcome = Outcome.FAIL if corrupt else clean
    return Finding("replay", outcome, message, {"sessions": [evidence(record) for record in records]})


def judge_session(
    script: Script, wave: int, answers: Iterable[tuple[int, Answer]], registry: Registry, *, max_tokens: int
) -> Record:
    """A session judged from its answers, (turn number, answer) in order. Pure; stops where the session ended."""
    story = Story(script.session, wave)
    asked = dict(enumerate(turns(script), 1))
    end, corrupt, detail = "cancelled", False, "the answers end here"
    with contextlib.closing(story.spool):
        for number, answer in answers:
            judgement = judge_turn(script, asked[number], answer, registry, max_tokens=max_tokens)
            story.add(asked[number], answer, judgement)
            if judgement.end is not None:
                end, corrupt, detail = judgement.end, judgement.corrupt, judgement.detail
                break
    return story.ended(end, corrupt=corrupt, detail=detail)


def _again(script: Script, kept: Sequence[Kept], registry: Registry, options: Options) -> Record:
    answers = ((one.turn, one.answer) for one in kept)
    return judge_session(script, kept[0].wave, answers, registry, max_tokens=options.limit)


def _options(path: Path, run: Mapping[str, Any]) -> Options:
    """The run's options; a file of another hand may hold anything by their names."""
    known = {field.name: str(field.type) for field in dataclasses.fields(Options)}
    given = {name: value for name, value in run.items() if name in known}
    if wrong := [name for name, value in given.items() if not _fits(value, known[name])]:
        raise NoStreamFileError(f"{path}: the run's {wrong[0]} should be {known[wrong[0]]}")
    try:
        return Options(**given)
    except TypeError as error:
        raise NoStreamFileError(f"{path}: {error}") from error


def _fits(value: object, annotation: str) -> bool:
    """Whether a JSON value is of an option's type, as it is written: `float | None`."""
    names = annotation.replace("[", " ").split(" ")
    kinds = tuple(kind for name in names for kind in _KINDS.get(name, ()))
    return isinstance(value, kinds) and not (isinstance(value, bool) and bool not in kinds)


def _require_few_enough(path: Path, options: Options, waves: int) -> None:
    """The scripts of all waves are written again: raises NoStreamFileError for more of them than any run has."""
    values = options.sessions * waves * (options.rounds * options.rows + options.ctx // TOKENS_A_LINE)
    sizes = (options.sessions, options.rounds, options.rows, options.ctx + 1, waves)
    if min(sizes) < 1 or values > MOST_VALUES or not 0.0 <= options.shared_prefix <= 1.0:
        raise NoStreamFileError(
            f"{path}: no run has {waves} waves of {options.sessions} sessions of this size"
        )
