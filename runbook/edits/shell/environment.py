"""The environment a script gives its launched process, name by name, and what keeps us from being sure of it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from runbook.edits.shell.launch import find
from runbook.edits.shell.sites import Site
from runbook.edits.shell.traversal import FUNCTION

if TYPE_CHECKING:
    from collections.abc import Iterator

    from runbook.edits.shell.launch import Launch
    from runbook.edits.shell.script import Script


_COMMANDS = re.compile(r"(?<![\w-])(?:env|sudo|bash|sh|eval|exec)(?![\w-])")
ANOTHER_LAUNCH = "another launch"
_VALUES = ("assign", "append", "unset", "touch")


class Placed(NamedTuple):
    """A site and the index (`at`) of its statement; the launch's own sites stand at the launch."""

    site: Site
    at: int


class Standing(NamedTuple):
    """How one variable stands at the launch.

    `present`: the process gets it; `value`: its literal text, None when only known at run time. `doubt` is the place
    that makes the answer uncertain. `exported` is the attribute alone, whether or not a value was given.
    """

    present: bool = False
    value: str | None = None
    exported: bool = False
    assigned: bool = False
    doubt: Site | None = None
    fixed: bool = False

    @property
    def literal(self) -> bool:
        return self.assigned and self.value is not None

    def same(self, other: Standing) -> bool:
        """Whether the process gets the same, as far as the text tells."""
        alike = (self.present, self.value, self.exported) == (other.present, other.value, other.exported)
        return alike and (self.doubt is None) == (other.doubt is None)


class Environment(NamedTuple):
    """Every site of a script by name, in order, up to the launch."""

    script: Script
    launch: Launch | None
    placed: dict[str, tuple[Placed, ...]]
    wild: tuple[Placed, ...]
    nounset: bool

    @property
    def own(self) -> tuple[Site, ...]:
        """The assignments that belong to launches themselves."""
        launches = (self.launch, *self.launch.rivals) if self.launch else ()
        return tuple(site for launch in launches for site in launch.sites)

    def sites(self, name: str) -> tuple[Placed, ...]:
        return self.placed.get(name, ())

    def names(self) -> frozenset[str]:
        """Every name the script touches up to the launch."""
        return frozenset((*self.placed, *(site.name for site in self.own)))

    def may_export(self, name: str) -> bool:
        """Whether any place gives the variable the export attribute."""
        placed = any(place.site.exports for place in (*self.sites(name), *self.wild))
        return placed or any(site.name == name for site in self.own)

    def standing(self, name: str) -> Standing:
        """How the variable stands at the launch; in doubt where a rival gets something else."""
        standing = self.at_launch(name)
        for rival in self.launch.rivals if self.launch else ():
            if rival.beside and all(site.name != name for site in rival.sites):
                continue
            if standing.doubt is None and not standing.same(self._at_rival(rival, name)):
                return _doubted(standing, _maybe(name, rival.line, ANOTHER_LAUNCH, (0, 0)))
        return standing

    def at_launch(self, name: str) -> Standing:
        """How the variable stands at the launch itself, whatever its rivals get."""
        own = [site for site in self.launch.sites if site.name == name] if self.launch else []
        return _at_launch(self.in_shell(name), self.launch, own, name)

    def _at_rival(self, rival: Launch, name: str) -> Standing:
        """How the variable stands at an earlier launch of the same program."""
        last = rival.at if rival.where else rival.at - 1  # under a condition assignments may stand beside it
        before = [placed for placed in self._with_wild(name) if placed.at <= last or _is_late(placed)]
        own = [site for site in rival.sites if site.name == name]
        return _at_launch(self._folded(before), rival, own, name)

    def in_shell(self, name: str) -> Standing:
        """How the variable stands in the shell when it comes to the launch."""
        return self._folded(self._with_wild(name))

    def before(self, name: str, placed: Placed) -> Standing:
        """How the variable stands in the shell before one of its sites."""
        sites = self._with_wild(name)
        return self._folded(sites[: sites.index(placed)])

    def _with_wild(self, name: str) -> list[Placed]:
        """The sites of a name among those that may act on any name; ties keep functions last."""
        sites, passed, at = list(self.sites(name)), 0, -1
        for placed in self.wild:
            if placed.at < at:  # in a function, which counts as the last
                passed = 0
            later = (i for i in range(passed, len(sites)) if sites[i].at > placed.at)
            passed, at = next(later, len(sites)), placed.at
            sites.insert(passed, placed)
        return sites

    @staticmethod
    def _folded(sites: list[Placed]) -> Standing:
        standing = Standing()
        for placed in sites:
            standing = after(standing, placed.site)
        return standing


def read(script: Script) -> Environment:
    """The environment of a script."""
    launch = _with_variable(script, find(script.statements))
    last = launch.at if launch else len(script.statements)
    named: dict[str, list[Placed]] = {}
    wild: list[Placed] = []
    for placed in _placed(script, launch, last):
        (wild if placed.site.wild else named.setdefault(placed.site.name, [])).append(placed)
    nounset = bool(script.shell.nounset) or any(s.options.nounset for s in script.statements[: last + 1])
    return Environment(
        script, launch, {name: tuple(sites) for name, sites in named.items()}, tuple(wild), nounset
    )


def _with_variable(script: Script, launch: Launch | None) -> Launch | None:
    """The launch, unclear where its command is a variable that the script gives a command of its own like env."""
    if launch is None or not launch.argv or launch.argv[0].text is not None:
        return launch
    names = set(re.findall(r"\$\{?([A-Za-z_][A-Za-z0-9_]*)", launch.argv[0].raw))
    texts = (
        script.text(site.token)
        for statement in script.statements
        for site in statement.sites
        if site.name in names
    )
    sets = any(_COMMANDS.search(text.partition("=")[2]) for text in texts)
    return launch._replace(unclear=launch.argv[0].raw) if sets and not launch.unclear else launch


def _placed(script: Script, launch: Launch | None, last: int) -> Iterator[Placed]:
    """Sites in the order they take effect: a function's come last, for it may be called anywhere."""
    later: list[Placed] = []
    allexport = bool(script.shell.allexport)
    for index, statement in enumerate(script.statements[: last + 1]):
        if statement.options.allexport is not None:
            allexport = statement.options.allexport
        hidden = statement.hidden if launch and index == last and launch.where else ()
        for site in (*statement.sites, *hidden):
            if site.act == "local" and not (launch and launch.in_function):
                continue
            placed = Placed(_exported(site) if allexport else site, index)
            if _is_late(placed):
                later.append(placed)
            else:
                yield placed
    yield from later
    yield from _embedded(script, launch, last)


def _is_late(placed: Placed) -> bool:
    """Whether a place may act at any later time: in a function, or from a trap."""
    return placed.site.where.startswith(FUNCTION) or placed.site.lasting


def _exported(site: Site) -> Site:
    """The site under `set -a`: what it assigns is exported too."""
    if site.exports or site.act not in ("assign", "append", "touch"):
        return site
    return site._replace(exports=True, where="set -a" if site.where == "assignment" else site.where)


def _embedded(script: Script, launch: Launch | None, last: int) -> Iterator[Placed]:
    """`NAME=value` elements of an array the launch is built from: they may or may not end in the environment."""
    if launch is None:
        return
    used = " ".join(word.raw for word in launch.words if word.text is None)
    for index, statement in enumerate(script.statements[:last]):
        for array, name in statement.arrays:
            if f"{{{array}[" in used and launch.argv and launch.argv[0].text is None:
                spot = (statement.span[0], statement.span[0])
                yield Placed(_maybe(name, statement.line, f"the array {array}", spot), index)


def _maybe(name: str, line: int, where: str, spot: tuple[int, int]) -> Site:
    return Site(name, "touch", line, where, spot, spot, exports=True, owned=False, conditional=True)


def _doubted(standing: Standing, site: Site) -> Standing:
    return standing._replace(doubt=site)


def after(standing: Standing, site: Site) -> Standing:
    """How a variable stands after a place."""
    if site.wild or (standing.fixed and site.act in _VALUES):
        return _doubted(standing, site._replace(fixed=standing.fixed))
    if site.conditional:
        # even a place that gives no value may leave the name readonly, and a later assignment without effect
        kept = standing._replace(fixed=standing.fixed or site.fixed)
        return kept if _changes_nothing(standing, site) else _doubted(kept, site)
    exported = standing.exported or site.exports
    match site.act:
        case "unset":
            return Standing()
        case "unexport":
            return standing._replace(exported=False, present=False)
        case "export":
            present, fixed = exported and standing.assigned, standing.fixed or site.fixed
            return standing._replace(exported=exported, present=present, fixed=fixed)
        case "append":
            joined = f"{standing.value}{site.value}" if standing.literal and site.value is not None else None
            return Standing(exported, joined, exported, True, standing.doubt, site.fixed)
    return Standing(exported, site.value, exported, True, None if exported else standing.doubt, site.fixed)


def _changes_nothing(standing: Standing, site: Site) -> bool:
    """Whether a conditional place leaves all as it is even when it runs."""
    if standing.doubt:
        return False
    if site.act == "unset":
        return not standing.assigned and not standing.exported
    return site.act == "assign" and standing.present and standing.literal and site.value == standing.value


def _given(standing: Standing, site: Site) -> str | None:
    """The value a launch's own site gives: `K+=1` before a command adds to what the shell has."""
    if site.act != "append":
        return site.value
    return f"{standing.value}{site.value}" if standing.literal and site.value is not None else None


def _at_launch(shell: Standing, launch: Launch | None, own: list[Site], name: str) -> Standing:
    """What passes from the shell through prefix, `env` and other wrappers."""
    if launch is None:
        return shell
    standing = shell
    if launch.cleared or name in launch.dropped:
        standing = Standing()
    for site in own:
        locked = shell.fixed and site.where == "prefix"
        doubt = site._replace(fixed=locked) if locked or site.conditional else None
        standing = Standing(True, _given(standing, site), True, True, doubt)
    told = name in launch.told and re.search(rf"(?<![\w${{]){name}(?!\w)", launch.told)
    if standing.doubt is None and (launch.unclear or told):
        where = launch.unclear or "the text of another shell"
        return _doubted(standing, _maybe(name, launch.line, where, (0, 0)))
    return standing
