"""Module constants that are named once, put where they are used: a name is for people, the instance needs none."""

from __future__ import annotations

import ast
from collections import Counter


def inline_constants(tree: ast.Module) -> ast.Module:
    """The linked program without module-level numbers, strings and tuples of them that one place reads.

    Relies on the linker: no inner name is spelled like a module's.
    """
    names = [node for node in ast.walk(tree) if isinstance(node, ast.Name)]
    reads = Counter(node.id for node in names if isinstance(node.ctx, ast.Load))
    writes = Counter(node.id for node in names if isinstance(node.ctx, ast.Store))
    values: dict[str, ast.expr] = {}
    kept: list[ast.stmt] = []
    for statement in tree.body:
        match statement:
            case ast.Assign(targets=[ast.Name(id=name)], value=value) if reads[name] == writes[
                name
            ] == 1 and _is_constant(value):
                values[name] = value
            case _:
                kept.append(statement)
    tree.body = kept
    replaced: ast.Module = _Inline(values).visit(tree)
    return replaced


class _Inline(ast.NodeTransformer):
    def __init__(self, values: dict[str, ast.expr]) -> None:
        self._values = values

    def visit_Name(self, node: ast.Name) -> ast.AST:
        value = self._values.get(node.id) if isinstance(node.ctx, ast.Load) else None
        return node if value is None else ast.copy_location(value, node)


def _is_constant(node: ast.expr) -> bool:
    """Whether nothing but literals is in it, so that it means the same anywhere."""
    match node:
        case ast.Constant():
            return True
        case ast.Tuple(elts=parts):
            return all(map(_is_constant, parts))
        case ast.BinOp(left=left, right=right):
            return _is_constant(left) and _is_constant(right)
        case _:
            return False
