"""Which name of a Python module means which variable: enough of the language's scoping to rename safely.

Not understood, and refused: `global`, `nonlocal`, imports inside functions, `match`, walrus.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Literal, NoReturn

#: A node and the attribute of it that holds the name.
Place = tuple[ast.AST, str]
Kind = Literal["module", "function", "class"]

_REFUSED = (ast.Global, ast.Nonlocal, ast.NamedExpr, ast.Match, ast.AsyncFunctionDef)


@dataclass(eq=False)
class Scope:
    """bound: name -> places that bind it or resolve to it. fixed: names that must keep their spelling."""

    kind: Kind
    parent: Scope | None
    bound: dict[str, list[Place]] = field(default_factory=dict)
    fixed: set[str] = field(default_factory=set)
    children: list[Scope] = field(default_factory=list)
    _references: list[tuple[str, Place]] = field(default_factory=list)

    def bind(self, name: str, place: Place) -> None:
        """`place` gives the name a value here."""
        self.bound.setdefault(name, []).append(place)

    def refer(self, name: str, place: Place) -> None:
        """`place` reads the name here; resolved later, when every binding is known."""
        self._references.append((name, place))

    def resolve(self) -> Iterator[tuple[str, Place]]:
        """Give each reference to the scope that binds it; yields those that nobody binds (builtins)."""
        for name, place in self._references:
            owner: Scope | None = self
            while owner is not None and (name not in owner.bound or (owner.kind == "class" and owner is not self)):
                owner = owner.parent
            if owner is None:
                yield name, place
            else:
                owner.bound[name].append(place)
        for child in self.children:
            yield from child.resolve()


def analyse(tree: ast.Module) -> Scope:
    """The module's scope with every reference inside it resolved. Raises ValueError on what is not understood."""
    scope = Scope("module", None)
    _Walker(scope).visit_all(tree.body)
    for _unbound in scope.resolve():
        pass
    return scope


class _Walker(ast.NodeVisitor):
    def __init__(self, scope: Scope) -> None:
        self._scope = scope

    def visit_all(self, nodes: Iterable[ast.AST | None]) -> None:
        for node in nodes:
            if node is not None:
                self.visit(node)

    def _inner(self, kind: Kind) -> _Walker:
        child = Scope(kind, self._scope)
        self._scope.children.append(child)
        return _Walker(child)

    def _refuse(self, node: ast.AST, what: str) -> NoReturn:
        raise ValueError(f"line {getattr(node, 'lineno', '?')}: {what} is not understood")

    def visit(self, node: ast.AST) -> None:
        if isinstance(node, _REFUSED):
            self._refuse(node, type(node).__name__)
        super().visit(node)

    def visit_Name(self, node: ast.Name) -> None:
        if isinstance(node.ctx, ast.Load):
            self._scope.refer(node.id, (node, "id"))
        else:
            self._scope.bind(node.id, (node, "id"))

    def visit_alias(self, node: ast.alias) -> None:
        if self._scope.kind != "module":
            self._refuse(node, "an import inside a function")
        self._scope.bind((node.asname or node.name).split(".")[0], (node, "name"))

    def visit_ExceptHandler(self, node: ast.ExceptHandler) -> None:
        if node.name:
            self._scope.bind(node.name, (node, "name"))
        self.generic_visit(node)

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        self._scope.bind(node.name, (node, "name"))
        self.visit_all([*node.decorator_list, *node.bases, *node.keywords])
        self._inner("class").visit_all(node.body)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        self._scope.bind(node.name, (node, "name"))
        self.visit_all(node.decorator_list)
        inner = self._function(node.args)
        if node.name.startswith("__"):
            # Called by Python itself or as a class, perhaps with keywords out of a document.
            inner._scope.fixed.update(inner._scope.bound)
        inner.visit_all(node.body)

    def visit_Lambda(self, node: ast.Lambda) -> None:
        self._function(node.args).visit(node.body)

    def _function(self, arguments: ast.arguments) -> _Walker:
        self.visit_all([*arguments.defaults, *arguments.kw_defaults])
        inner = self._inner("function")
        for argument in (
            *arguments.posonlyargs,
            *arguments.args,
            *arguments.kwonlyargs,
            arguments.vararg,
            arguments.kwarg,
        ):
            if argument is not None:
                inner._scope.bind(argument.arg, (argument, "arg"))
        return inner

    def _comprehension(self, node: ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp) -> None:
        # The first iterable belongs to the scope around; the rest has names of its own.
        self.visit(node.generators[0].iter)
        inner = self._inner("function")
        for number, generator in enumerate(node.generators):
            inner.visit(generator.target)
            inner.visit_all([*([generator.iter] if number else []), *generator.ifs])
        inner.visit_all([node.key, node.value] if isinstance(node, ast.DictComp) else [node.elt])

    # ast's own naming.
    visit_ListComp = _comprehension  # noqa: N815
    visit_SetComp = _comprehension  # noqa: N815
    visit_GeneratorExp = _comprehension  # noqa: N815
    visit_DictComp = _comprehension  # noqa: N815
