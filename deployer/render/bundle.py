"""A package as one program without what only people read: how the agent is sent.

User-data is limited to 16 KiB. Docstrings, comments, annotations, long names, unused definitions and the walls between
the modules stay here. Deterministic for one Python version.
"""

from __future__ import annotations

import ast
import io
import token as tokens
import tokenize
from collections.abc import Iterable

from deployer.render.inline import inline_constants
from deployer.render.linker import link


def bundle(sources: dict[str, str], entry: str) -> str:
    """One program out of a package's modules (name without `.py` -> text). Raises SyntaxError, ValueError."""
    wanted = {name: ast.parse(sources[name]) for name in sorted(_reached(sources, entry))}
    trees = {name: _Strip().visit(tree) for name, tree in wanted.items()}
    while _drop_unused(trees.values()):
        pass
    return _text(inline_constants(link(trees, entry)))


def _reached(sources: dict[str, str], entry: str) -> set[str]:
    """The modules that the entry imports, also by others. One that is missing shows in the linker."""
    found: set[str] = set()
    todo = [entry]
    while todo:
        name = todo.pop()
        if name in found or name not in sources:
            continue
        found.add(name)
        for node in ast.parse(sources[name]).body:
            match node:
                case ast.ImportFrom(level=1, module=None, names=names):
                    todo += [alias.name for alias in names]
                case ast.ImportFrom(level=1, module=str(module)):
                    todo.append(module)
                case _:
                    pass
    return found


class _Strip(ast.NodeTransformer):
    """Removes docstrings, `from __future__` and annotations."""

    def __init__(self) -> None:
        self._fields: set[ast.AnnAssign] = set()

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
        self._fields.update(statement for statement in node.body if isinstance(statement, ast.AnnAssign))
        return self._body(node)

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
        if node in self._fields:
            # The field's name matters to NamedTuple, its type to nobody; before Python 3.11 it must be one, or None.
            node.annotation = ast.Constant(None)
            return node
        if node.value is None:
            return ast.copy_location(ast.Pass(), node)
        return ast.copy_location(ast.Assign(targets=[node.target], value=node.value), node)


def _drop_unused(trees: Iterable[ast.Module]) -> bool:
    """Remove top-level definitions, constants and imports that nothing names; True when there were some."""
    used: set[str] = set()
    for tree in trees:
        for node in ast.walk(tree):
            match node:
                case ast.Name(id=name, ctx=ast.Load()) | ast.Attribute(attr=name):
                    used.add(name)
                case ast.ImportFrom(level=1, names=names):
                    # Whether the importing module uses it, that module's own pass finds out.
                    used.update(alias.name for alias in names)
                case _:
                    pass
    before = sum(_size(tree) for tree in trees)
    for tree in trees:
        own = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)}
        kept: list[ast.stmt] = []
        for statement in tree.body:
            match statement:
                case ast.Import() | ast.ImportFrom():
                    statement.names = [a for a in statement.names if (a.asname or a.name).split(".")[0] in own]
                    if statement.names:
                        kept.append(statement)
                case ast.FunctionDef(name=name) | ast.ClassDef(name=name) | ast.Assign(targets=[ast.Name(id=name)]):
                    if name in used:
                        kept.append(statement)
                case _:
                    kept.append(statement)
        tree.body = kept
    return sum(_size(tree) for tree in trees) < before


def _size(tree: ast.Module) -> int:
    return sum(1 for _ in ast.walk(tree))


def _text(tree: ast.Module) -> str:
    text = ast.unparse(ast.fix_missing_locations(tree))
    tight = _tight(text)
    # Proof instead of trust: without its white space it must be the same program.
    if ast.dump(ast.parse(tight)) != ast.dump(ast.parse(text)):
        raise ValueError("squeezing the white space changed the program")
    return tight


def _tight(text: str) -> str:
    """One space for each level of indentation, none where two tokens need none, no blank lines."""
    lines: list[str] = []
    line, depth = "", 0
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        match token.type:
            case tokens.INDENT:
                depth += 1
            case tokens.DEDENT:
                depth -= 1
            case tokens.NEWLINE:
                lines.append(line)
                line = ""
            case tokens.NL | tokens.ENDMARKER:
                pass
            case _:
                touching = bool(line) and _wordy(line[-1]) and _wordy(token.string[0])
                line = (line or " " * depth) + (" " if touching else "") + token.string
    return "\n".join(lines) + "\n"


def _wordy(char: str) -> bool:
    return char.isalnum() or char == "_"
