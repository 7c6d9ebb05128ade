"""The modules of one package as one module with short names, for the place where every byte counts.

Understood of imports: `import m`, `from m import n`, `from . import sibling` and `from .sibling import n`.
"""

from __future__ import annotations

import ast
import builtins
import keyword
import string
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import count, product

from deployer.render.scopes import Place, Scope, analyse


@dataclass
class _Package:
    """symbols: (module, name) -> every place that says it. imports: statement text -> names it binds."""

    order: list[str] = field(default_factory=list)
    scopes: dict[str, Scope] = field(default_factory=dict)
    symbols: dict[tuple[str, str], list[Place]] = field(default_factory=dict)
    external: set[str] = field(default_factory=set)


def link(modules: dict[str, ast.Module], entry: str) -> ast.Module:
    """One module that does what running `modules[entry]` does. The given trees are changed.

    Raises ValueError on an import cycle and on what scopes.py does not understand.
    """
    package = _Package()
    _visit(package, modules, entry, ())
    plain: dict[str, ast.alias] = {}
    partial: set[str] = set()
    body: list[ast.stmt] = []
    for name in package.order:
        for statement in modules[name].body:
            match statement:
                case ast.ImportFrom(level=1):
                    pass
                case ast.Import(names=names) | ast.ImportFrom(names=names):
                    if isinstance(statement, ast.Import):
                        plain.update({ast.unparse(alias): alias for alias in names})
                    else:
                        partial.add(ast.unparse(statement))
                    package.external.update((alias.asname or alias.name).split(".")[0] for alias in names)
                case _:
                    body.append(statement)
    keywords = {
        node.arg for tree in modules.values() for node in ast.walk(tree) if isinstance(node, ast.keyword) and node.arg
    }
    _rename_globals(package)
    for scope in package.scopes.values():
        for child in scope.children:
            _rename_locals(child, keywords, package.external)
    _rename_private(modules.values())
    imports = [ast.Import([plain[name] for name in sorted(plain)]), *ast.parse("\n".join(sorted(partial))).body]
    return ast.Module(body=[*imports, *body], type_ignores=[])


def _visit(package: _Package, modules: dict[str, ast.Module], name: str, path: tuple[str, ...]) -> None:
    """Siblings first, then the module itself."""
    if name in path:
        raise ValueError(f"import cycle: {' -> '.join((*path, name))}")
    if name in package.order:
        return
    tree = modules[name]
    siblings: set[str] = set()
    imported: dict[str, tuple[str, str]] = {}
    for statement in tree.body:
        match statement:
            case ast.ImportFrom(level=1, module=None, names=names):
                siblings.update(alias.name for alias in names)
            case ast.ImportFrom(level=1, module=str(module), names=names):
                imported.update({alias.asname or alias.name: (module, alias.name) for alias in names})
            case _:
                pass
    for sibling in sorted(siblings | {module for module, _ in imported.values()}):
        _visit(package, modules, sibling, (*path, name))
    _flatten(tree, siblings)
    scope = analyse(tree)
    package.order.append(name)
    package.scopes[name] = scope
    external = {
        (alias.asname or alias.name).split(".")[0]
        for statement in tree.body
        if isinstance(statement, ast.Import | ast.ImportFrom) and getattr(statement, "level", 0) == 0
        for alias in statement.names
    }
    for bound, places in scope.bound.items():
        if bound in external or bound in siblings:
            continue
        usable = [place for place in places if not isinstance(place[0], ast.alias)]
        package.symbols.setdefault(imported.get(bound, (name, bound)), []).extend(usable)
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and "." in node.id:
            module, _, attribute = node.id.partition(".")
            package.symbols[module, attribute].append((node, "id"))


def _flatten(tree: ast.Module, siblings: set[str]) -> None:
    """`sibling.name` becomes one Name spelled with the dot, which no local name can hide."""

    class Flatten(ast.NodeTransformer):
        def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
            match node.value:
                case ast.Name(id=name) if name in siblings:
                    return ast.copy_location(ast.Name(f"{name}.{node.attr}", node.ctx), node)
                case _:
                    self.generic_visit(node)
                    return node

    Flatten().visit(tree)


def _rename_globals(package: _Package) -> None:
    # Upper case, which no local name gets. The most used name gets the shortest.
    names = _names(string.ascii_uppercase)
    for _, places in sorted(package.symbols.items(), key=lambda item: (-len(item[1]), item[0])):
        _rename(places, next(names))


def _rename_locals(scope: Scope, keywords: set[str], taken: set[str]) -> None:
    if scope.kind == "class":
        # Attributes: anyone may ask for them by name.
        for child in scope.children:
            _rename_locals(child, keywords, taken)
        return
    kept = scope.fixed | (keywords & set(scope.bound))
    used = taken | kept
    names = (name for name in _names(string.ascii_lowercase) if name not in used)
    given = {name: next(names) for name in scope.bound if name not in kept}
    for name, new in given.items():
        _rename(scope.bound[name], new)
    for child in scope.children:
        _rename_locals(child, keywords, used | set(given.values()))


def _rename_private(trees: Iterable[ast.Module]) -> None:
    """Attributes and methods that begin with one underscore: one short name for each, the same everywhere."""
    given: dict[str, str] = {}
    names = _names(string.ascii_lowercase)
    for node in (node for tree in trees for node in ast.walk(tree)):
        match node:
            case ast.Attribute(attr=name) | ast.FunctionDef(name=name) if name.startswith("_") and name[1] != "_":
                new = given.setdefault(name, "_" + next(names) if name not in given else given[name])
                setattr(node, "attr" if isinstance(node, ast.Attribute) else "name", new)
            case _:
                pass


def _rename(places: list[Place], name: str) -> None:
    for node, attribute in places:
        setattr(node, attribute, name)


def _names(letters: str) -> Iterator[str]:
    for length in count(1):
        for chosen in product(letters, repeat=length):
            name = "".join(chosen)
            if not keyword.iskeyword(name) and not hasattr(builtins, name):
                yield name
