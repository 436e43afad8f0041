"""Load a host file: read it, lay it on its profile, check it, and say everything that is wrong at once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from runbook import shipped
from runbook.errors import HostFileError
from runbook.inventory.lookup import profiles_beside
from runbook.inventory.nodes import Node, Position, Problem, Scalar, Table, merged, whereabouts, without_nulls
from runbook.inventory.reading import SIZE_MAX_BYTES, decoded, read
from runbook.inventory.templating import filled

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from runbook.model import Host


def parse(name: str, path: Path, *, variables: Mapping[str, Any] | None = None) -> Host:
    """The host of one file, whatever its name; profiles are looked for beside it, then among runbook's own. Raises as
    `load` does.
    """
    source = _source(path)
    text = decoded(_bytes(path, source), source)
    over, problems = _table(text if variables is None else filled(text, source, variables), source)
    base, more = _profile(over, profiles_beside(path))
    root = without_nulls(merged(base or Table({}, {}, over.at), over))
    return _checked(name, source, root, [*problems, *more], whole=base is not None)


def _checked(name: str, source: str, root: Node, problems: list[Problem], *, whole: bool) -> Host:
    # pydantic costs a tenth of a second, which `known` and an unknown name need not pay.
    from pydantic import ValidationError

    from runbook.inventory import building, checks, tables
    from runbook.inventory.nodes import plain
    from runbook.inventory.problems import of_schema

    problems = [*problems, *checks.of_document(root)]
    try:
        file = tables.HostFile.model_validate(plain(root, tables.is_literal))
    except ValidationError as error:
        raise _refused([*problems, *of_schema(error.errors(), root, whole=whole)], source) from error
    if problems:
        raise _refused(problems, source)
    return building.host(name, source, file)


def _table(text: str, source: str) -> tuple[Table, list[Problem]]:
    root, problems = read(text, source)
    start = Position(source, 1, 1)
    if root is None:
        raise _refused(
            [
                *problems,
                Problem(start, "", f"is empty; {shipped.shown('hosts/example.yml')} shows what it may say"),
            ],
            source,
        )
    if not isinstance(root, Table):
        raise _refused(
            [*problems, Problem(root.at, "", "should be a mapping of keys such as units and ssh")], source
        )
    return root, problems


def _source(path: Path) -> str:
    """How a file is shown: from hosts/ on, and as it stands where it is not the operator's own."""
    if path.is_relative_to(shipped.path("hosts")):
        return shipped.shown(f"hosts/{path.relative_to(shipped.path('hosts'))}")
    return "/".join(path.parts[-3 if path.parent.name == "profiles" else -2 :])


def _profile(over: Table, profiles: Mapping[str, Path]) -> tuple[Table | None, list[Problem]]:
    """The profile a host file names: empty when it names none, None when there is none of that name."""
    node = over.items.get("profile")
    if not isinstance(node, Scalar) or node.is_null:
        return Table({}, {}, over.at), []
    if node.text not in profiles:
        from runbook.inventory.problems import suggestion

        text = f"no profile named {node.text!r}; {suggestion(node.text, sorted(profiles))}"
        return None, [Problem(node.at, "profile", text)]
    path = profiles[node.text]
    source = _source(path)
    base, problems = _table(decoded(_bytes(path, source), source), source)
    if "profile" in base.items:
        at = whereabouts(base, ("profile",), of_key=True)
        problems = [*problems, Problem(at, "profile", "a profile stands on its own; take this out")]
    return base, problems


def _bytes(path: Path, source: str) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(SIZE_MAX_BYTES + 1)
    except OSError as error:
        raise HostFileError([f"{source}: cannot be read: {error.strerror}"]) from error


def _refused(problems: list[Problem], source: str) -> HostFileError:
    """All problems, the host file's own first, in the order of the file; one said twice is told once."""
    ordered = sorted(
        set(problems),
        key=lambda problem: (problem.at.source != source, problem.at, problem.key, problem.text),
    )
    return HostFileError([str(problem) for problem in ordered])
