"""Collects the mistakes found in one spec, so that all of them are told at once."""

from __future__ import annotations

import re
from collections.abc import Sequence

from deployer.errors import Diagnostic, SpecError
from deployer.spec.positions import OVERRIDE, Path, Position

_TIDY_KEY = re.compile(r"[\w.:/=+@<-]{1,60}")


def show(value: str, limit: int = 60) -> str:
    """Text safe to print on one line of a terminal: control characters escaped, the long middle left out."""
    if len(value) > limit:
        value = value[: limit - 10] + "…" + value[-9:]
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in value)


def dotted(path: Path) -> str:
    """`instance.fallbacks[1]`. Unusual keys are quoted."""
    parts: list[str] = []
    for step in path:
        if isinstance(step, int):
            parts.append(f"[{step}]")
        else:
            parts.append(("." if parts else "") + (step if _TIDY_KEY.fullmatch(step) else f'"{show(step)}"'))
    return "".join(parts)


class Findings:
    """The mistakes so far. A path that has one is not reported again by a later check (`seen`)."""

    def __init__(self, file: str) -> None:
        self._file = file
        self._found: dict[tuple[str, int, int, str, str], Diagnostic] = {}
        self._paths: set[Path] = set()

    def add(self, path: Path, at: Position, message: str, *, covers: bool = True) -> None:
        """Note one mistake; the same mistake at the same place counts once.

        covers: later checks need not look at this path any more.
        """
        diagnostic = Diagnostic(at.origin or self._file, at.line, at.column, dotted(path), message)
        self._found.setdefault((at.origin, at.line, at.column, diagnostic.path, message), diagnostic)
        if covers:
            self._paths.add(path)

    def seen(self, path: Path) -> bool:
        """Whether `path` has a mistake already."""
        return path in self._paths

    def in_order(self) -> list[Diagnostic]:
        """In the order of the file, then those of the overrides."""
        return sorted(self._found.values(), key=lambda d: (d.file == OVERRIDE, d.line, d.column, d.path))

    def raise_if_any(self) -> None:
        """Raise SpecError when anything was found."""
        found = self.in_order()
        if found:
            raise SpecError(found)


def single(file: str, at: Position, message: str, *, hint: str | None = None, path: Path = ()) -> SpecError:
    """A SpecError with one mistake."""
    return SpecError([Diagnostic(at.origin or file, at.line, at.column, dotted(path), message)], hint=hint)


def quoted_list(words: Sequence[str]) -> str:
    """`a, b or c`."""
    return words[0] if len(words) == 1 else ", ".join(words[:-1]) + " or " + words[-1]
