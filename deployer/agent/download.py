"""One source over HTTP into a Part: Range resume, cut connections, changed files, full disks, bounded tries."""

from __future__ import annotations

import os
import re
import shutil
import urllib.error
from typing import Any, Callable, Mapping

from .console import OUT_OF_SPACE, Phase
from .part import Part
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
_TRANSIENT = (408, 425, 429, 500, 502, 503, 504)


class SourceFailed(Exception):
    """The source does not serve the file. mismatch: it served a file, but another one."""

    def __init__(self, message: str, mismatch: bool = False) -> None:
        super().__init__(message)
        self.mismatch = mismatch


class _Again(Exception):
    """The try failed in a way that another may not."""


class Download:
    """headers: made anew for each try (signatures age). size: the pinned size in bytes, if any.

    reach_tries: tries in a row that may find no way to the host while nothing of the file is here.
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
    ) -> None:
        self._url = url
        self._part = part
        self._size = size
        self._headers = headers
        self._phase = phase
        self._stop = stop
        self._first_pause = first_pause
        self._reach_tries = reach_tries
        #: Bytes that came over the wire.
        self.received = 0

    def run(self) -> None:
        """Until the part is complete. Raises SourceFailed, AgentFailure (disk_full) or Stopped."""
        fruitless = 0
        while True:
            before, tries = self._part.offset, TRIES
            try:
                if self._part.complete or self._try():
                    return
                reason = "the connection was cut at byte %d" % self._part.offset
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
            gained = self._part.offset - before
            fruitless = 0 if gained > (self._part.total or 0) // 100 else fruitless + 1
            if fruitless >= tries:
                raise SourceFailed("%s (%d tries)" % (reason, fruitless))
            self._phase.progress("trying again: %s" % reason, self._part.offset, self._part.total)
            self._stop.pause(min(MAX_PAUSE_SECONDS, self._first_pause * 2**fruitless))

    def _try(self) -> bool:
        self._stop.check()
        part = self._part
        headers = dict(self._headers(self._url))
        if part.offset:
            headers["Range"] = "bytes=%d-" % part.offset
            validator = _validator(part.meta)
            if validator:
                headers["If-Range"] = validator
        with open_url(self._url, SILENCE_SECONDS, headers=headers) as response:
            self._accept(response)
            while True:
                chunk = response.read1(_CHUNK)
                if not chunk:
                    return part.complete or part.total is None
                part.append(chunk)
                self.received += len(chunk)
                self._phase.progress(done=part.offset, total=part.total)
                self._stop.check()

    def _accept(self, response: Any) -> None:
        """Agree with the server on what comes now, or raise."""
        part, status, headers = self._part, response.status, response.headers
        etag, modified = headers.get("ETag"), headers.get("Last-Modified")
        if status == 200:
            if part.offset:
                # It does not serve ranges, or the file is no longer the one we began.
                part.restart()
            length = headers.get("Content-Length")
            total = int(length) if length and length.isdigit() else None
        elif status == 206:
            match = re.match(r"bytes (\d+)-\d+/(\d+)", headers.get("Content-Range") or "")
            total = int(match.group(2)) if match else None
            changed = bool(etag and part.meta.get("etag") and etag != part.meta["etag"])
            if match is None or int(match.group(1)) != part.offset or total != part.total or changed:
                part.restart()
                raise _Again("the file at the source changed")
        elif status == 416:
            part.restart()
            raise _Again("the source has no such range")
        elif status in _TRANSIENT:
            raise _Again("HTTP %d" % status)
        else:
            raise SourceFailed("HTTP %d" % status)
        if total is not None and self._size is not None and total != self._size:
            raise SourceFailed("it has %d bytes, %d are expected" % (total, self._size), mismatch=True)
        need_space(self._phase, part.path, (total or self._size or 0) - part.offset)
        part.describe(total, etag, modified)


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
