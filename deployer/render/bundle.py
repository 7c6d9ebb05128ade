"""The agent's modules as they are sent: the same program without what only people read.

User-data is limited to 16 KiB. Docstrings, comments, annotations, blank lines, and top-level names and imports that
no module uses stay here. Deterministic for one Python version.
"""

from __future__ import annotations

import ast
import io
import tokenize
from collections.abc import Iterable
from functools import cache
from pathlib import Path

PACKAGE = "deployer_agent"


@cache
def agent_modules() -> tuple[tuple[str, str], ...]:
    """(file name, minified source) of every agent module, by name."""
    folder = Path(__file__).parent.parent / "agent"
    return minify({path.name: path.read_text(encoding="utf-8") for path in folder.glob("*.py")})


def minify(sources: dict[str, str]) -> tuple[tuple[str, str], ...]:
    """The same package in fewer bytes, by file name. Raises SyntaxError for what is not Python."""
    trees = {name: _Strip().visit(ast.parse(source)) for name, source in sorted(sources.items())}
    while _drop_unused(trees.values()):
        pass
    return tuple((name, _text(tree)) for name, tree in trees.items())


class _Strip(ast.NodeTransformer):
    """Removes docstrings and annotations. Class bodies keep their fields, which can mean something (NamedTuple)."""

    def _body(self, node: ast.AST) -> ast.AST:
        self.generic_visit(node)
        body: list[ast.stmt] = node.body  # type: ignore[attr-defined]
        first = body[0] if body else None
        if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and isinstance(first.value.value, str):
            del body[0]
        if not body and not isinstance(node, ast.Module):
            body.append(ast.Pass())
        return node

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        fields = [statement for statement in node.body if isinstance(statement, ast.AnnAssign)]
        self._body(node)
        for field in fields:
            # The field's name matters to NamedTuple, its type to nobody.
            field.annotation = ast.Constant(0)
        return node

    def visit_Module(self, node: ast.Module) -> ast.AST:
        self._body(node)
        node.body = [s for s in node.body if not (isinstance(s, ast.ImportFrom) and s.module == "__future__")]
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        node.returns = None
        for argument in ast.walk(node.args):
            if isinstance(argument, ast.arg):
                argument.annotation = None
        return self._body(node)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        if node.value is None:
            return node
        return ast.copy_location(ast.Assign(targets=[node.target], value=node.value), node)


def _drop_unused(trees: Iterable[ast.Module]) -> bool:
    """Remove top-level definitions, constants and imports that nothing names; True when there were some."""
    used: set[str] = set()
    for tree in trees:
        for node in ast.walk(tree):
            match node:
                case ast.Name(id=name, ctx=ast.Load()):
                    used.add(name)
                case ast.Attribute(attr=name):
                    used.add(name)
                case ast.ImportFrom(level=1, names=names):
                    # Imported by another module: kept if that module uses it, which this pass finds out there.
                    used.update(alias.name for alias in names)
                case _:
                    pass
    dropped = False
    for tree in trees:
        own = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)}
        kept: list[ast.stmt] = []
        for statement in tree.body:
            match statement:
                case ast.Import() | ast.ImportFrom():
                    names = [alias for alias in statement.names if (alias.asname or alias.name).split(".")[0] in own]
                    dropped = dropped or len(names) < len(statement.names)
                    statement.names = names
                    if names:
                        kept.append(statement)
                case ast.FunctionDef(name=name) | ast.ClassDef(name=name) | ast.Assign(targets=[ast.Name(id=name)]):
                    if name in used:
                        kept.append(statement)
                    else:
                        dropped = True
                case _:
                    kept.append(statement)
        tree.body = kept
    return dropped


def _text(tree: ast.Module) -> str:
    text = ast.unparse(ast.fix_missing_locations(tree))
    narrow = _narrow(text)
    # Proof instead of trust: the narrow text must be the same program.
    same = ast.dump(ast.parse(narrow)) == ast.dump(ast.parse(text))
    return (narrow if same else text) + "\n"


def _narrow(text: str) -> str:
    """One space for each level of indentation instead of four, and no blank lines."""
    inside: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.STRING:
            inside.update(range(token.start[0] + 1, token.end[0] + 1))
    lines: list[str] = []
    for number, line in enumerate(text.split("\n"), 1):
        code = line.lstrip(" ")
        if number in inside:
            lines.append(line)
        elif code:
            lines.append(" " * ((len(line) - len(code)) // 4) + code)
    return "\n".join(lines)
