"""Events as JSON lines, for scripts: {"event": name, ...fields}; a document is its fields alone."""

from __future__ import annotations

import json
import threading
from types import TracebackType
from typing import Self, TextIO

from deployer.events import Event


class JsonView:
    """One JSON object a line, flushed at once so that a reader sees it when it happens."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._lock = threading.Lock()

    def emit(self, event: Event) -> None:
        """Write {"event": name, **fields}."""
        self._write({"event": event.name, **event.fields})

    def show(self, document: Event) -> None:
        """Write the document's fields."""
        self._write(dict(document.fields))

    def _write(self, body: dict[str, object]) -> None:
        with self._lock:
            self._stream.write(json.dumps(body, ensure_ascii=False) + "\n")
            self._stream.flush()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Nothing is held back, so nothing is left to write."""
