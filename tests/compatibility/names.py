"""Which names of the standard library some sources ask for that the Python that runs this does not have.

`python names.py PACKAGES FILE…` prints each as `file:line: name` and exits with 1; PACKAGES, by commas, are not looked
at. For Python 3.9, standard library only.
"""

from __future__ import annotations

import ast
import importlib
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterator


def missing(source: str, but: Collection[str] = ()) -> Iterator[tuple[int, str]]:
    """Line and name of each module, and of each name of a module, that is asked for and not there."""
    modules: dict[str, str] = {}
    for node in _reached(ast.parse(source)):
        for module, name, bound in _asked(node, modules):
            if bound:
                modules[bound] = module
            if module.partition(".")[0] not in but and not _has(module, name):
                yield getattr(node, "lineno", 0), f"{module}.{name}" if name else module


def _asked(node: ast.AST, modules: dict[str, str]) -> Iterator[tuple[str, str, str]]:
    """Module, name in it, and the name that a module is bound to from here on; each may be empty but the first."""
    if isinstance(node, ast.Import):
        for alias in node.names:
            top = alias.name.partition(".")[0]
            yield alias.name, "", alias.asname or (alias.name if alias.name == top else "")
            if alias.asname is None and alias.name != top:
                yield top, "", top
    elif isinstance(node, ast.ImportFrom) and node.module:
        yield from ((node.module, alias.name, "") for alias in node.names)
    elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in modules:
        yield modules[node.value.id], node.attr, ""


def _reached(tree: ast.AST) -> Iterator[ast.AST]:
    """Every node that a run can reach, in order: what stands under TYPE_CHECKING is for checkers alone."""
    for child in ast.iter_child_nodes(tree):
        if not (isinstance(child, ast.If) and _is_for_checkers(child.test)):
            yield child
            yield from _reached(child)


def _is_for_checkers(test: ast.expr) -> bool:
    return isinstance(test, ast.Name) and test.id == "TYPE_CHECKING"


def _has(module: str, name: str) -> bool:
    try:
        found = importlib.import_module(module)
        return not name or hasattr(found, name) or bool(importlib.import_module(f"{module}.{name}"))
    except ImportError:
        return False


def main(packages: str, *paths: str) -> int:
    """Print what is missing in these files; 1 where something is."""
    status = 0
    for path in paths:
        with open(path, encoding="utf-8") as file:  # noqa: PTH123 - nothing but what is looked at
            for line, name in missing(file.read(), packages.split(",")):
                print(f"{path}:{line}: {name}")  # noqa: T201
                status = 1
    return status


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
