"""sha256 of a file that grows, read behind the download, so that little is left to do when the last byte is here."""

from __future__ import annotations

import hashlib
import os
import threading
from typing import Callable

_CHUNK = 1 << 22
_POLL_SECONDS = 0.5


class Hasher:
    """Follows in a thread of its own. reached: bytes from the start of the file that are here without a gap."""

    def __init__(self, descriptor: int, reached: Callable[[], int]) -> None:
        self._descriptor = descriptor
        self._reached = reached
        self._turn = threading.Lock()
        self._news = threading.Event()
        self._closed = False
        self.restart()
        self._thread = threading.Thread(target=self._follow, daemon=True)
        self._thread.start()

    def wake(self) -> None:
        """More is here."""
        self._news.set()

    def restart(self) -> None:
        """The file begins anew."""
        with self._turn:
            self._digest, self._at = hashlib.sha256(), 0

    def finish(self) -> str:
        """The digest of everything that is here now."""
        while self._step():
            pass
        with self._turn:
            return self._digest.hexdigest()

    def close(self) -> None:
        """End the thread."""
        self._closed = True
        self._news.set()
        self._thread.join()

    def _follow(self) -> None:
        while not self._closed:
            if not self._step():
                self._news.wait(_POLL_SECONDS)
                self._news.clear()

    def _step(self) -> bool:
        """Read one chunk; False when there is none."""
        with self._turn:
            chunk = os.pread(self._descriptor, max(0, min(_CHUNK, self._reached() - self._at)), self._at)
            self._digest.update(chunk)
            self._at += len(chunk)
            return bool(chunk)
