"""The header of a GGUF without the rest of the file: a stream that fetches blocks as they are read."""

from __future__ import annotations

import io

from deployer.clock import Clock
from deployer.engine.gguf import GgufError, GgufHeader, read_header
from deployer.models.source import Source, SourceError, read_exactly
from deployer.models.summary import shortfall

_FIRST_BLOCK = 1 << 20
_LARGEST_BLOCK = 8 << 20
#: The largest header known is some 12 MB (vocabulary of 248,320 and its merges); ten times that is junk.
HEADER_LIMIT = 128 << 20


class HeaderTooLong(Exception):
    """More was read than a header may be."""


class BlockReader(io.RawIOBase):
    """Forward reading of a source in blocks that double; the current block is kept, so small reads cost nothing.

    fetched: bytes asked from the source. Raises HeaderTooLong past `limit`, SourceError from the source.
    """

    def __init__(self, source: Source, clock: Clock, *, limit: int = HEADER_LIMIT) -> None:
        super().__init__()
        self._source = source
        self._clock = clock
        self._limit = limit
        self._block = memoryview(b"")
        self._next_size = _FIRST_BLOCK
        self.fetched = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: object) -> int:
        """0 at the end of the file."""
        target = memoryview(buffer)  # type: ignore[arg-type]
        if not self._block:
            self._fill()
        count = min(len(target), len(self._block))
        target[:count] = self._block[:count]
        self._block = self._block[count:]
        return count

    def _fill(self) -> None:
        length = min(self._next_size, self._source.size - self.fetched)
        if length <= 0:
            return
        if self.fetched >= self._limit:
            raise HeaderTooLong
        length = min(length, self._limit - self.fetched)
        self._block = memoryview(read_exactly(self._source, self.fetched, length, self._clock))
        self.fetched += length
        self._next_size = min(2 * self._next_size, _LARGEST_BLOCK)


def read_model_header(source: Source, clock: Clock, *, limit: int = HEADER_LIMIT) -> GgufHeader:
    """The header, when it is a whole one and the file is long enough for its tensors. Raises SourceError."""
    if source.size == 0:
        raise SourceError(f"{source.shown} is empty")
    blocks = BlockReader(source, clock, limit=limit)
    try:
        header = read_header(io.BufferedReader(blocks, _FIRST_BLOCK))
    except GgufError as error:
        raise SourceError(f"{source.shown}: {error}") from None
    except HeaderTooLong:
        raise SourceError(
            f"{source.shown}: the header does not end within {limit >> 20} MiB, which no model's does: it is damaged"
        ) from None
    missing = shortfall(header, source.size)
    if missing is not None:
        raise SourceError(f"{source.shown}: {missing}", hint="download it again; the copy it came from may be whole")
    return header
