"""What keys of a host file must say about each other; every check tolerates values that are wrong by themselves."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeGuard

from runbook.inventory import tables
from runbook.inventory.nodes import (
    Listing,
    Node,
    Path,
    Problem,
    Scalar,
    Table,
    at,
    shown,
    shown_key,
    whereabouts,
)
from runbook.inventory.problems import found, near, suggestion
from runbook.onhost.masking import is_secret_option

Wrong = tuple[Path, str]

# Options of the load generator that runbook itself sets.
_OWN_OPTIONS = frozenset({"api_key_env", "base_url", "jsonl", "model", "tag"})


def of_document(root: Node) -> list[Problem]:
    """Every disagreement inside one host file laid on its profile."""
    return [
        Problem(whereabouts(root, path, of_key=of_key), shown(path), text)
        for checks, of_key in ((_OF_KEYS, True), (_OF_VALUES, False))
        for check in checks
        for path, text in check(root)
    ]


def _answers_chat(root: Node) -> Iterator[Wrong]:
    units = _tables(root, "units")
    if units and not any("url" in unit.items for unit in units.values()):
        yield ("units",), "no unit has a url; give it to the one that answers chat (the router)"


def _scope_fits(root: Node) -> Iterator[Wrong]:
    """Units of a user: root has none of theirs, and /var/lib is not theirs to write."""
    scope, become = at(root, ("scope",)), at(root, ("become",))
    if not (isinstance(scope, Scalar) and scope.text == "user"):
        return
    if isinstance(become, Scalar) and become.text == "true":
        yield (
            ("become",),
            "stands beside scope: user, whose units are the login user's own; keep one of the two",
        )
    if at(root, ("state_dir",)) is None:
        yield (
            ("scope",),
            "user also needs a state_dir that the login user owns, such as /home/ann/.local/state/runbook",
        )


def _named_once(root: Node) -> Iterator[Wrong]:
    for key in ("unit", "health"):
        seen: dict[str, str] = {}
        for role, unit in _tables(root, "units").items():
            value = unit.items.get(key)
            if isinstance(value, Scalar) and (first := seen.setdefault(value.text, role)) != role:
                yield (
                    ("units", role, key),
                    f"should be its own, found {found(value)}, which is {shown_key(first)}'s",
                )


def _one_kind_a_file(root: Node) -> Iterator[Wrong]:
    """A path that two kinds of edit would claim: each kind has its own grammar."""
    seen: dict[str, str] = {}
    for role, unit in _tables(root, "units").items():
        for path, node in _files(("units", role), unit):
            kind = str(path[2])
            if (first := seen.setdefault(node.text, kind)) != kind:
                yield path, f"{found(node)} is declared as {first} too; a file has one kind"


def _files(unit_at: Path, unit: Table) -> Iterator[tuple[Path, Scalar]]:
    if isinstance(script := unit.items.get("script"), Scalar):
        yield (*unit_at, "script"), script
    for key in ("env_files", "drop_ins", "sourced"):
        listing = unit.items.get(key)
        nodes = listing.items if isinstance(listing, Listing) else ()
        for index, node in enumerate(nodes):
            if isinstance(node, Scalar):
                yield (*unit_at, key, index), node


def _validations_named_once(root: Node) -> Iterator[Wrong]:
    seen: dict[str, int] = {}
    for index, validation in _validations(root):
        name = validation.items.get("name")
        if isinstance(name, Scalar) and seen.setdefault(name.text, index) != index:
            yield ("validations", index, "name"), f"should be its own, found {found(name)} a second time"


def _value_or_absent(root: Node) -> Iterator[Wrong]:
    for name, flag in _tables(root, "flags").items():
        if "value" in flag.items and "absent" in flag.items:
            yield ("flags", name, "absent"), "stands beside a value; keep one of the two"
        elif not {"value", "absent"} & flag.items.keys():
            yield (
                ("flags", name),
                'says neither value nor absent: true (an empty value is "", the word null is "null")',
            )


def _one_word_an_argument(root: Node) -> Iterator[Wrong]:
    for path, argument in _arguments(root):
        said = [key for key in ("value", "present", "absent") if key in argument.items]
        if len(said) > 1:
            yield (*path, said[-1]), f"stands beside {said[0]}; keep one of the two"
        elif not said:
            yield path, 'says neither value, present: true nor absent: true (an empty value is "")'


def _arguments_have_a_place(root: Node) -> Iterator[Wrong]:
    for role, unit in _tables(root, "units").items():
        if "args" in unit.items and "script" not in unit.items:
            yield ("units", role, "args"), "have no place to stand: the unit has no script"


def _no_secret_arguments(root: Node) -> Iterator[Wrong]:
    for path, _ in _arguments(root):
        if is_secret_option(str(path[-1])):
            yield path, "is a secret, which has no place in a host file; leave it to the script"


def _arguments(root: Node) -> Iterator[tuple[Path, Table]]:
    for role, unit in _tables(root, "units").items():
        declared = unit.items.get("args")
        items = declared.items if isinstance(declared, Table) else {}
        for name, argument in items.items():
            if isinstance(argument, Table):
                yield ("units", role, "args", name), argument


def _flags_have_a_place(root: Node) -> Iterator[Wrong]:
    units = _tables(root, "units")
    if units and not _scripted(units):
        yield from (
            (("flags", name), "has no place to stand: no unit has a script")
            for name in _tables(root, "flags")
        )


def _flag_roles(root: Node) -> Iterator[Wrong]:
    units = _tables(root, "units")
    for name, flag in _tables(root, "flags").items():
        roles = flag.items.get("units")
        if isinstance(roles, Listing) and _scripted(units):
            yield from _roles(("flags", name, "units"), roles, units)


def _roles(path: Path, roles: Listing, units: Mapping[str, Table]) -> Iterator[Wrong]:
    seen: set[str] = set()
    for index, node in enumerate(roles.items):
        if not isinstance(node, Scalar):
            continue
        if node.text not in units:
            yield (*path, index), f"no unit has the role {found(node)}; {suggestion(node.text, units)}"
        elif node.text not in _scripted(units):
            yield (*path, index), f"{found(node)} has no script to set a flag in"
        elif node.text in seen:
            yield (*path, index), f"names {found(node)} twice"
        seen.add(node.text)


def _dates(root: Node) -> Iterator[Wrong]:
    flags = ((("flags", name), flag) for name, flag in _tables(root, "flags").items())
    for path, entry in (*flags, *_arguments(root)):
        since, expires = entry.items.get("since"), entry.items.get("expires")
        if _is_date(since) and _is_date(expires) and expires.text < since.text:
            yield (*path, "expires"), f"should not be before since {since.text}, found {expires.text}"


def _is_date(node: Node | None) -> TypeGuard[Scalar]:
    return isinstance(node, Scalar) and bool(re.fullmatch(r"\d{4}-\d\d-\d\d", node.text))


def _options(root: Node) -> Iterator[Wrong]:
    for index, validation in _validations(root):
        if "run" not in validation.items:
            yield from _unknown_options(("validations", index), validation, tables.SessionsTable.model_fields)
    bench = at(root, ("bench",))
    if isinstance(bench, Table):
        yield from _unknown_options(("bench",), bench, tables.BenchTable.model_fields)


def _unknown_options(path: Path, table: Table, fields: Mapping[str, Any]) -> Iterator[Wrong]:
    for key in table.items.keys() - fields.keys():
        if key.replace("-", "_") in _OWN_OPTIONS:
            yield (*path, key), "is set by runbook itself; take it out"
        elif close := near(key, fields.keys() - table.items.keys()):
            yield (*path, key), f"is no key here; did you mean {close}?"
        elif not re.fullmatch(r"[a-z][a-z0-9_-]*", key):
            yield (*path, key), "is no key here, nor an option of the load generator by its long name"


def _tables(root: Node, key: str) -> dict[str, Table]:
    parent = at(root, (key,))
    items = parent.items if isinstance(parent, Table) else {}
    return {name: node for name, node in items.items() if isinstance(node, Table)}


def _scripted(units: Mapping[str, Table]) -> list[str]:
    return [role for role, unit in units.items() if "script" in unit.items]


def _one_way_to_notify(root: Node) -> Iterator[Wrong]:
    listing = at(root, ("notify",))
    for index, notice in enumerate(listing.items if isinstance(listing, Listing) else ()):
        if isinstance(notice, Table) and len({"url", "url_env"} & notice.items.keys()) != 1:
            yield (
                ("notify", index),
                "should have a url, or a url_env that names the variable it stands in, one of the two",
            )


def _validations(root: Node) -> Iterator[tuple[int, Table]]:
    listing = at(root, ("validations",))
    entries = listing.items if isinstance(listing, Listing) else ()
    return ((index, node) for index, node in enumerate(entries) if isinstance(node, Table))


_Check = Callable[[Node], Iterator[Wrong]]
_OF_KEYS: tuple[_Check, ...] = (
    _answers_chat,
    _scope_fits,
    _value_or_absent,
    _one_word_an_argument,
    _flags_have_a_place,
    _one_way_to_notify,
    _arguments_have_a_place,
    _no_secret_arguments,
    _options,
)
_OF_VALUES: tuple[_Check, ...] = (_named_once, _one_kind_a_file, _validations_named_once, _flag_roles, _dates)
