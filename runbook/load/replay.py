"""Judging kept streams again, offline: the same scripts from the same seed, the same judge."""

from __future__ import annotations

import dataclasses
import random
from itertools import groupby
from typing import TYPE_CHECKING, Any

from runbook.load.exchange import turns
from runbook.load.judgement import judge_turn
from runbook.load.nonces import Registry
from runbook.load.options import Options
from runbook.load.story import Record, Story
from runbook.load.streams import NoStreamFileError, read_streams
from runbook.load.swarm import waves_of_scripts

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from runbook.load.script import Script
    from runbook.load.streams import Kept


def replay(path: Path) -> tuple[Options, list[Record]]:
    """The kept sessions of a streams file, judged by today's rules. Raises NoStreamFileError and OSError."""
    run, kept = read_streams(path)
    options = _options(path, run)
    registry = Registry(random.Random(options.seed))
    last = max((one.wave for one in kept), default=0)
    waves = waves_of_scripts(options, registry)
    scripts = {script.session: script for _ in range(last + 1) for script in next(waves)}
    ordered = sorted(kept, key=lambda one: (one.session, one.turn))
    sessions = groupby(ordered, key=lambda one: one.session)
    return options, [_again(scripts[session], list(ones), registry, options) for session, ones in sessions]


def _options(path: Path, run: Mapping[str, Any]) -> Options:
    known = {field.name for field in dataclasses.fields(Options)}
    try:
        return Options(**{name: value for name, value in run.items() if name in known})
    except TypeError as error:
        raise NoStreamFileError(f"{path}: {error}") from error


def _again(script: Script, kept: Iterable[Kept], registry: Registry, options: Options) -> Record:
    story = Story(script.session, 0)
    asked = turns(script)
    end, corrupt, detail = "cancelled", False, "the kept streams end here"
    for one in kept:
        story.wave = one.wave
        turn = asked[one.turn - 1]
        judgement = judge_turn(script, turn, one.answer, registry, max_tokens=options.limit)
        story.add(turn, one.answer, judgement)
        if judgement.end is not None:
            end, corrupt, detail = judgement.end, judgement.corrupt, judgement.detail
            break
    story.spool.close()
    return story.ended(end, corrupt=corrupt, detail=detail)
