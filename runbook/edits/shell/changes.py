"""Changes: which splices give a script's launched process the wanted environment, or why none may."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from runbook.edits.shell import insertion, removal
from runbook.edits.shell.environment import ANOTHER_LAUNCH, after
from runbook.edits.shell.splices import Splice
from runbook.edits.shell.statements import CUT, EXPANSION
from runbook.edits.shell.words import quote
from runbook.errors import EditRefusedError

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from runbook.edits.shell.environment import Environment, Placed
    from runbook.edits.shell.sites import Site
    from runbook.edits.shell.words import Span

_GIVES = ("assign", "append")


@dataclass(slots=True)
class _Draft:
    """Splices in the making: words to take out by statement, lines and env words to add."""

    found: Environment
    splices: list[Splice] = field(default_factory=list)
    operands: dict[int, set[Span]] = field(default_factory=dict)
    launch_words: set[Span] = field(default_factory=set)
    lines: dict[int, list[str]] = field(default_factory=dict)
    env_words: list[str] = field(default_factory=list)

    def replace(self, span: Span, text: str) -> None:
        self.splices.append(Splice(*span, text.encode("utf-8", "surrogateescape")))

    def drop(self, placed: Placed) -> None:
        self.operands.setdefault(placed.at, set()).add(placed.site.token)

    def all_of(self, index: int) -> set[Span]:
        operands = self.found.script.statements[index].operands
        return set(operands.spans) if operands else set()

    def line(self, text: str, *, not_before: int = -1) -> None:
        self.lines.setdefault(not_before, []).append(text)


def plan(found: Environment, wanted: Mapping[str, str], unwanted: Collection[str]) -> list[Splice]:
    """The splices that give `wanted` its values and take `unwanted` away; none where that is so already.

    Raises EditRefusedError, with the line, where a place that would have to change is not ours to change.
    """
    draft = _Draft(found)
    for name in unwanted:
        _unset(draft, name)
    for name, value in wanted.items():
        _set(draft, name, value)
    return _splices(draft)


def reason(site: Site) -> str:
    """Why a place leaves us unsure or may not be rewritten, and what to do."""
    if site.wild:
        return f"{site.where} takes names from expansions; write each as export NAME=value"
    if site.where == ANOTHER_LAUNCH:
        return f"{site.name} is not the same for the server launched here; make it so, or edit it by hand"
    if site.where == CUT:
        return f"{site.name} is set on a line whose expansions may fail, and bash then drops the rest; put it on one of its own"
    if site.where == EXPANSION:
        return f"{site.name} is set under {EXPANSION} such as ${{{site.name}:=…}} or ((…)); write it as export {site.name}=value"
    if site.conditional:
        return f"{site.name} is set under {site.where}; move it to the top level, or edit it by hand"
    if site.fixed:
        return f"{site.name} is readonly, typed or an array, so that a value may not arrive as written; edit it by hand"
    return f"{site.name} is set by {site.where}, which is not ours to rewrite; write it as export {site.name}=value"


def refusal(site: Site) -> EditRefusedError:
    return EditRefusedError(reason(site), line=site.line)


def _set(draft: _Draft, name: str, value: str) -> None:
    found, launch = draft.found, draft.found.launch
    standing = found.standing(name)
    if standing.present and standing.value == value and standing.doubt is None:
        return
    if standing.doubt and standing.doubt.where == ANOTHER_LAUNCH:
        # a value given to all of them makes them alike
        if standing.present and standing.value == value:
            raise refusal(standing.doubt)
        standing = found.at_launch(name)
    own = [site for site in launch.sites if site.name == name] if launch else []
    if standing.doubt and launch and (launch.unclear or launch.told or standing.doubt.fixed):
        raise refusal(standing.doubt)
    if own:
        _rewrite(draft, own[-1], value)
        draft.launch_words |= {site.token for site in own[:-1]}
        _drop_shadowed(draft, name)
    elif launch and (launch.cleared or name in launch.dropped):
        _add_env_word(draft, name, value)
    elif standing.doubt:
        raise refusal(standing.doubt)
    else:
        _set_in_shell(draft, name, value)


def _rewrite(draft: _Draft, site: Site, value: str) -> None:
    if not site.owned:
        raise refusal(site)
    word = f"={quote(value)}"
    draft.replace(site.value_at, f"{site.name}{word}" if site.value_at == site.token else word)


def _add_env_word(draft: _Draft, name: str, value: str) -> None:
    launch = draft.found.launch
    if launch is None or launch.room is None:
        cleared = launch.cleared if launch else ""
        raise EditRefusedError(
            f"the launch runs under {cleared}, so an export does not reach it; start it with env NAME=value",
            line=launch.line if launch else None,
        )
    draft.env_words.append(f" {name}={quote(value)}")


def _set_in_shell(draft: _Draft, name: str, value: str) -> None:
    sites = [placed for placed in draft.found.sites(name) if not placed.site.conditional]
    run = _trailing_run(draft.found, name, sites)
    gives = [placed for placed in run if placed.site.act in _GIVES]
    last = run[-1] if run else None
    if any(placed.site.act == "touch" for placed in run):
        raise refusal(next(placed.site for placed in run if placed.site.act == "touch"))
    if gives:
        _set_in_run(draft, run, gives, value)
    elif last is None or last.site.act in ("unset", "unexport") or not _exporting(run):
        draft.line(f"export {name}={quote(value)}", not_before=last.at if last else -1)
    else:
        _rewrite(draft, _exporting(run)[-1].site, value)


def _exporting(run: list[Placed]) -> list[Placed]:
    return [placed for placed in run if placed.site.exports]


def _set_in_run(draft: _Draft, run: list[Placed], gives: list[Placed], value: str) -> None:
    keeper = (_exporting(gives) or gives)[-1]
    _rewrite(draft, keeper.site, value)
    kept = []
    for placed in run:
        dropped = placed is not keeper and placed.site.act in (*_GIVES, "unset", "unexport")
        if dropped and not placed.site.owned and run.index(placed) > run.index(keeper):
            raise refusal(placed.site)
        if dropped and placed.site.owned:
            draft.drop(placed)
        else:
            kept.append(placed)
    if not _still_exported(draft.found, keeper, kept):
        _export(draft, keeper)


def _still_exported(found: Environment, keeper: Placed, kept: list[Placed]) -> bool:
    standing = found.before(keeper.site.name, kept[0] if kept else keeper)
    for placed in kept:
        site = placed.site._replace(act="assign") if placed is keeper else placed.site
        standing = after(standing, site)
    return standing.present


def _export(draft: _Draft, keeper: Placed) -> None:
    """Give an assignment that is not exported the attribute."""
    operands = draft.found.script.statements[keeper.at].operands
    if operands and operands.bare and len(operands.spans) == 1:
        draft.splices.append(Splice(keeper.site.token[0], keeper.site.token[0], b"export "))
    else:
        draft.line(f"export {keeper.site.name}", not_before=keeper.at)


def _trailing_run(found: Environment, name: str, sites: list[Placed]) -> list[Placed]:
    """The last sites of a name between which nothing could have used it."""
    run = sites[-1:]
    for placed in reversed(sites[:-1]):
        if _used_between(found, name, placed.at, run[0].at):
            break
        run.insert(0, placed)
    return run


def _used_between(found: Environment, name: str, first: int, last: int) -> bool:
    between = found.script.statements[first + 1 : last + 1]
    return any(name in s.mentions or not s.idle for s in between)


def _drop_shadowed(draft: _Draft, name: str) -> None:
    """Take out assignments whose value the launch's own assignment hides from the only process there is."""
    found, launch = draft.found, draft.found.launch
    if launch is None or name in found.script.statements[launch.at].mentions:
        return
    for placed in reversed(found.sites(name)):
        if placed.site.conditional or not placed.site.owned or placed.site.act not in (*_GIVES, "export"):
            return
        if _used_between(found, name, placed.at, launch.at - 1):
            return
        draft.drop(placed)


def _unset(draft: _Draft, name: str) -> None:
    found, launch = draft.found, draft.found.launch
    standing, shell = found.standing(name), found.in_shell(name)
    own = [site for site in launch.sites if site.name == name] if launch else []
    unlike = standing.doubt is not None and standing.doubt.where == ANOTHER_LAUNCH
    if standing.doubt and not (unlike and standing.present):
        raise refusal(standing.doubt)
    hidden = launch is not None and (bool(launch.cleared) or name in launch.dropped)
    if not (own or (shell.exported and not hidden)):
        return
    _refuse_needed(found, name)
    for site in own:
        if not site.owned:
            raise refusal(site)
        draft.launch_words.add(site.token)
    if not hidden:
        _unset_in_shell(draft, name)


def _unset_in_shell(draft: _Draft, name: str) -> None:
    for placed in reversed(draft.found.sites(name)):
        site = placed.site
        if site.conditional:
            continue
        if site.act == "unset":
            return
        if site.act in _GIVES or site.exports:
            if not site.owned:
                raise refusal(site)
            draft.drop(placed)


def _refuse_needed(found: Environment, name: str) -> None:
    """Removing a variable the script still reads would stop it under `set -u`, or change the launch's arguments."""
    for index, statement in enumerate(found.script.statements):
        launches = found.launch is not None and index == found.launch.at
        if name in statement.reads and (found.nounset or launches):
            why = "the launch command uses it" if launches else "the script reads it under set -u"
            raise EditRefusedError(
                f"{name} cannot be removed: {why}; change ${name} there first", line=statement.line
            )


def _splices(draft: _Draft) -> list[Splice]:
    found = draft.found
    script, launch = found.script, found.launch
    gone = {at for at, tokens in draft.operands.items() if tokens == draft.all_of(at)}
    added = [insertion.of_lines(found, lines, not_before=at, gone=gone) for at, lines in draft.lines.items()]
    # where another splice begins, a whole new line stands before it, and a command on the same line after it
    splices = [splice for splice in added if splice.text.endswith(b"\n")]
    splices += draft.splices
    taken = [(script.statements[index], tokens) for index, tokens in sorted(draft.operands.items())]
    splices += removal.of_operands(script.source, taken)
    if launch:
        splices += removal.of_launch_words(script.source, launch, draft.launch_words)
    if launch and launch.room is not None and draft.env_words:
        text = "".join(draft.env_words).encode("utf-8", "surrogateescape")
        splices.append(Splice(launch.room, launch.room, text))
    return splices + [splice for splice in added if not splice.text.endswith(b"\n")]
