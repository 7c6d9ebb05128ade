"""One source over HTTP into a Part: several connections, cut ones, changed files, full disks, bounded tries."""

from __future__ import annotations

import os
import re
import shutil
import threading
import time
import urllib.error
from typing import Any, Callable, Mapping

from .console import OUT_OF_SPACE, Phase
from .part import PIECES_AT_LEAST, Part
from .stop import Stop
from .web import NETWORK_ERRORS, open_url

#: Tries in a row that may bring (next to) nothing before a source is given up.
TRIES = 6
#: Tries to reach a host before it is the next source's turn. Such a failure (no address, refused, no answer) seldom
#: passes in a moment, unlike a cut connection.
REACH_TRIES = 2
MAX_PAUSE_SECONDS = 15.0
#: Silence after which a connection counts as broken.
SILENCE_SECONDS = 30.0
#: Kept free beside the weights: logs, the sidecars, the system.
RESERVE_BYTES = 64 * 1024 * 1024
_CHUNK = 1 << 18
#: A try that brought so many bytes, or a hundredth of the file, was worth it: slow is not failed.
_GAIN = 1 << 20
#: How often what is written is brought to the disk, for a machine that crashes.
_SYNC_SECONDS = 5.0
_TRANSIENT = (408, 425, 429, 500, 502, 503, 504)


class SourceFailed(Exception):
    """The source does not serve the file. mismatch: it served a file, but another one. unreachable: no way there."""

    def __init__(self, message: str, mismatch: bool = False, unreachable: bool = False) -> None:
        super().__init__(message)
        self.mismatch = mismatch
        self.unreachable = unreachable


class _Again(Exception):
    """The try failed in a way that another may not."""


class _Changed(_Again):
    """What the source serves is no longer the file that was begun."""


class Download:
    """headers: made anew for each try (signatures age). size: the pinned size in bytes, if any.

    reach_tries: tries in a row that may find no way to the host while nothing of the file is here. connections: how
    many fetch pieces of a large file at the same time.
    """

    def __init__(
        self,
        url: str,
        part: Part,
        size: int | None,
        headers: Callable[[str], dict[str, str]],
        phase: Phase,
        stop: Stop,
        first_pause: float,
        reach_tries: int,
        connections: int,
    ) -> None:
        self._url = url
        self._part = part
        self._size = size
        self._headers = headers
        self._phase = phase
        self._stop = stop
        self._first_pause = first_pause
        self._reach_tries = reach_tries
        self._connections = connections
        self._ranges = True
        self._lock = threading.Lock()
        self._at_work = 0
        self._helpers: list[threading.Thread] = []
        self._error: BaseException | None = None
        self._changed = ""
        self._over = False
        self._synced = time.monotonic()

    def run(self) -> None:
        """Until the part is complete. Raises SourceFailed, AgentFailure (disk_full) or Stopped."""
        changes = 0
        while not self._part.complete:
            self._over, self._changed, self._helpers = False, "", []
            self._work()
            for helper in self._helpers:
                helper.join()
            if self._error is not None:
                raise self._error
            if self._changed:
                self._part.restart()
                changes += 1
                if changes >= TRIES:
                    raise SourceFailed("%s (%d times)" % (self._changed, changes))
                self._say("trying again: " + self._changed)
                self._stop.pause(self._first_pause * changes)

    def _work(self) -> None:
        """Fetch piece after piece; an error ends the work of all."""
        with self._lock:
            self._at_work += 1
        try:
            self._pieces()
        except _Changed as change:
            self._changed, self._over = str(change), True
        except BaseException as error:  # noqa: BLE001 - raised again in the thread that waits
            self._error, self._over = self._error or error, True
        finally:
            with self._lock:
                self._at_work -= 1

    def _pieces(self) -> None:
        fruitless = 0
        while not self._over:
            index = self._part.claim()
            if index is None:
                return
            held, before, tries = [index], self._part.offset, TRIES
            try:
                if self._fetch(held):
                    fruitless = 0
                    continue
                reason = "the connection was cut at byte %d" % self._part.span(held[0])[0]
            except _Changed:
                raise
            except _Again as again:
                reason = str(again)
            except NETWORK_ERRORS as error:
                if getattr(error, "errno", None) in OUT_OF_SPACE:
                    # Not the network's fault; the phase knows what it means.
                    raise
                reason = str(error) or type(error).__name__
                if isinstance(error, urllib.error.URLError) and not self._part.offset:
                    tries = self._reach_tries
            except ValueError as error:
                raise SourceFailed("not a usable URL: %s" % error) from None
            finally:
                self._part.release(held[0])
            gained = self._part.offset - before
            fruitless = 0 if gained > min(_GAIN, (self._part.total or 0) // 100) else fruitless + 1
            if fruitless >= tries:
                if self._at_work > 1:
                    # The others get on: a source may not want so many connections.
                    return
                raise SourceFailed("%s (%d tries)" % (reason, fruitless), unreachable=tries != TRIES)
            self._say("trying again: " + reason)
            self._stop.pause(min(MAX_PAUSE_SECONDS, self._first_pause * 2**fruitless))

    def _fetch(self, held: list[int]) -> bool:
        """One connection. held: the piece it is at, which may become a later one. Is that complete?"""
        self._stop.check()
        part = self._part
        headers = dict(self._headers(self._url))
        first, end = part.span(held[0])
        if not part.meta and (self._size or 0) > PIECES_AT_LEAST * part.piece_bytes:
            end = part.piece_bytes
        if first or end:
            headers["Range"] = "bytes=%d-%s" % (first, end - 1 if end else "")
            validator = _validator(part.meta)
            if validator:
                headers["If-Range"] = validator
        with open_url(self._url, SILENCE_SECONDS, headers=headers) as response:
            self._accept(response, first)
            self._widen()
            whole = response.status == 200
            # A kill loses what was read and not stored: a small part of a piece for each connection.
            most = min(_CHUNK, max(4096, part.piece_bytes // 64))
            while not self._over:
                chunk = response.read1(part.room(held[0], most))
                if not chunk:
                    part.ended = part.total is None
                    return part.is_done(held[0])
                part.count(len(chunk))
                part.append(held[0], chunk)
                if part.is_done(held[0]):
                    # A body without a bound goes on, up to where another connection fetches.
                    if not whole or part.claim(held[0] + 1) is None:
                        return True
                    part.release(held[0])
                    held[0] += 1
                self._say()
                self._stop.check()
        return True

    def _widen(self) -> None:
        """Once it is known that the file comes in pieces, more connections help."""
        with self._lock:
            if self._helpers or not self._part.piece:
                return
            self._helpers = [threading.Thread(target=self._work, daemon=True) for _ in range(self._connections - 1)]
        for helper in self._helpers:
            helper.start()

    def _say(self, message: str = "") -> None:
        with self._lock:
            self._phase.progress(message, self._part.offset, self._part.total)
            due = bool(self._part.piece) and time.monotonic() - self._synced > _SYNC_SECONDS
            if due:
                self._synced = time.monotonic()
        if due:
            self._part.sync()

    def _accept(self, response: Any, first: int) -> None:
        """Agree with the server on what comes now, or raise."""
        part, status, headers = self._part, response.status, response.headers
        etag, modified = headers.get("ETag"), headers.get("Last-Modified")
        ranges = status == 206
        if status == 200:
            if first:
                # It does not serve ranges, or the file is no longer the one we began.
                self._ranges = False
                if part.piece:
                    raise _Changed("the source sends the whole file when asked for a piece")
                part.restart()
            ranges = self._ranges and headers.get("Accept-Ranges") == "bytes"
            length = headers.get("Content-Length")
            total = int(length) if length and length.isdigit() else None
        elif status == 206:
            match = re.match(r"bytes (\d+)-\d+/(\d+)", headers.get("Content-Range") or "")
            total = int(match.group(2)) if match else None
            other = part.total is not None and total != part.total
            changed = bool(etag and part.meta.get("etag") and etag != part.meta["etag"])
            if match is None or int(match.group(1)) != first or other or changed:
                raise _Changed("the file at the source changed")
        elif status == 416:
            raise _Changed("the source has no such range")
        elif status in _TRANSIENT:
            raise _Again("HTTP %d" % status)
        else:
            # A new role takes seconds to be known, and the bytes may be asked for before that.
            raise SourceFailed("HTTP %d" % status, unreachable=status == 403 and bool(self._headers(self._url)))
        if total is not None and self._size is not None and total != self._size:
            raise SourceFailed("it has %d bytes, %d are expected" % (total, self._size), mismatch=True)
        need_space(self._phase, part.path, (total or self._size or 0) - part.offset)
        part.describe(total, etag, modified, ranges)


def need_space(phase: Phase, path: str, size: int) -> None:
    """Raises AgentFailure disk_full when `size` bytes and the reserve do not fit beside `path`."""
    free = shutil.disk_usage(os.path.dirname(path)).free
    if size + RESERVE_BYTES > free:
        text = "%.2f GiB are still to come and %.2f GiB are free beside %s" % (size / 2**30, free / 2**30, path)
        raise phase.failure("disk_full", text)


def _validator(meta: Mapping[str, Any]) -> str | None:
    """What If-Range may carry: a strong ETag, else the date."""
    etag = meta.get("etag")
    return etag if etag and not etag.startswith("W/") else meta.get("modified")
