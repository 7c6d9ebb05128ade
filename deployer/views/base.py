"""What a view is, and the choice of one."""

from __future__ import annotations

from collections.abc import Mapping
from types import TracebackType
from typing import Protocol, Self, TextIO

from deployer.events import Event


class View(Protocol):
    """emit shows one thing that happened; show prints one finished document, named by the event's name."""

    def emit(self, event: Event) -> None: ...
    def show(self, document: Event) -> None: ...
    def __enter__(self) -> Self: ...
    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...


def choose(stream: TextIO, environ: Mapping[str, str], *, as_json: bool) -> View:
    """JSON lines when asked for, a live view on a terminal, plain lines everywhere else.

    NO_COLOR takes the colours away, TERM=dumb the live view as well.
    """
    if as_json:
        from deployer.views.json import JsonView

        return JsonView(stream)
    if stream.isatty() and environ.get("TERM") != "dumb":
        from deployer.views.live import LiveView

        return LiveView(stream, colour=not environ.get("NO_COLOR"))
    from deployer.views.plain import PlainView

    return PlainView(stream)
