"""Several mistakes at once: independent checks go on after one has failed."""

from __future__ import annotations

from collections.abc import Callable
from typing import ParamSpec, TypeVar

from deployer.errors import Diagnostic, SpecError

P = ParamSpec("P")
R = TypeVar("R")


class Findings:
    """Gathers the SpecErrors of checks that do not depend on each other."""

    def __init__(self) -> None:
        self._diagnostics: list[Diagnostic] = []
        self._hint: str | None = None

    def attempt(self, check: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R | None:
        """The check's result, or None when it raised a SpecError, which is kept."""
        try:
            return check(*args, **kwargs)
        except SpecError as error:
            self.add(error)
            return None

    def add(self, error: SpecError) -> None:
        """Keep one more mistake."""
        self._diagnostics.extend(error.diagnostics)
        self._hint = self._hint or error.hint

    def raise_if_any(self) -> None:
        """Raise everything kept as one SpecError, in the order of the file."""
        if self._diagnostics:
            ordered = sorted(self._diagnostics, key=lambda d: (d.line, d.column))
            raise SpecError(ordered, hint=self._hint)
