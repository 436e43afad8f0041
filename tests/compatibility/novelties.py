"""What a source of Python 3.9 must not hold and its syntax alone does not forbid ("What's New In Python 3.10")."""

from __future__ import annotations

import ast
import builtins
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

_ATTRIBUTES = {"aclosing", "bit_count", "eventfd", "get_annotations", "hardlink_to", "pairwise", "splice"}
_BUILTINS = {"EncodingWarning", "aiter", "anext"}
_KEYWORDS = {
    "zip": {"strict"},
    "dataclass": {"kw_only", "match_args", "slots"},
    "field": {"kw_only"},
    "glob": {"dir_fd", "root_dir"},
    "iglob": {"dir_fd", "root_dir"},
    **{f"{search}{side}": {"key"} for search in ("bisect", "insort") for side in ("", "_left", "_right")},
}
_TYPES = {name for name, value in vars(builtins).items() if isinstance(value, type)}


def found(tree: ast.Module) -> Iterator[str]:
    """Each of them, as it is written."""
    annotations = (
        {id(part) for node in ast.walk(tree) for part in _annotation(node)} if _postponed(tree) else set()
    )
    for node in ast.walk(tree):
        if id(node) not in annotations and any(is_new(node) for is_new in (_union, _name, _keyword)):
            yield ast.unparse(node)


def _union(node: ast.AST) -> bool:
    """`int | None`, which is more than an annotation here."""
    return (
        isinstance(node, ast.BinOp)
        and isinstance(node.op, ast.BitOr)
        and any(_is_type(side) for side in (node.left, node.right))
    )


def _is_type(side: ast.expr) -> bool:
    return (
        side.value is None
        if isinstance(side, ast.Constant)
        else isinstance(side, ast.Name) and side.id in _TYPES
    )


def _name(node: ast.AST) -> bool:
    attribute = isinstance(node, ast.Attribute) and node.attr in _ATTRIBUTES
    return attribute or (isinstance(node, ast.Name) and node.id in _BUILTINS)


def _keyword(node: ast.AST) -> bool:
    if not isinstance(node, ast.Call):
        return False
    called = getattr(node.func, "attr", getattr(node.func, "id", ""))
    return bool(_KEYWORDS.get(called, set()) & {word.arg for word in node.keywords})


def _postponed(tree: ast.Module) -> bool:
    """`from __future__ import annotations`: an annotation is never evaluated."""
    return any(isinstance(node, ast.ImportFrom) and node.module == "__future__" for node in tree.body)


def _annotation(node: ast.AST) -> Iterator[ast.AST]:
    for field in ("annotation", "returns"):
        if (written := getattr(node, field, None)) is not None:
            yield from ast.walk(written)
