"""A view that survives its stream: work that changes AWS must go on when nobody can read about it any more."""

from __future__ import annotations

from types import TracebackType
from typing import Self

from deployer.events import Event
from deployer.views.base import View


class EnduringView:
    """Passes everything on until the stream fails (reader gone, disk full), then drops it.

    A document is the whole purpose of a command that shows one, so there only a reader that left is forgiven.
    """

    def __init__(self, view: View) -> None:
        self._view = view
        self._deaf = False

    def emit(self, event: Event) -> None:
        """Show the event if that is still possible."""
        if not self._deaf:
            try:
                self._view.emit(event)
            except OSError:
                self._deaf = True

    def show(self, document: Event) -> None:
        """Print the document. Raises OSError when it cannot be written, unless the reader has left."""
        if not self._deaf:
            try:
                self._view.show(document)
            except BrokenPipeError:
                self._deaf = True

    def __enter__(self) -> Self:
        self._view.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Give the terminal back, when there still is one."""
        try:
            self._view.__exit__(kind, error, trace)
        except OSError:
            self._deaf = True
