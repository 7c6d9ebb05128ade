"""SHA-256 of a long stream that survives the process: its state can be written down at any byte.

hashlib cannot do this, and S3 cannot give back the parts of an unfinished upload, so without it a push that was killed
would have to read everything from the source a second time. OpenSSL's own functions, which hashlib itself is built on,
keep eight words and a length; this file reads and sets them. Whether that holds for the library at hand is tried when
it is loaded; where it does not, hashlib is used and a killed push reads its source again.
"""

from __future__ import annotations

import ctypes
import hashlib
from functools import cache
from typing import Any, Protocol

BLOCK = 64
_WORDS = 8


class Digest(Protocol):
    """update: more bytes. state: what `continued` needs, None where that is not possible here."""

    def update(self, data: bytearray) -> None: ...
    def hexdigest(self) -> str: ...
    def state(self) -> str | None: ...


def new() -> Digest:
    """An empty digest."""
    library = _library()
    return _Portable() if library is None else _Resumable(library)


def continued(state: str | None) -> Digest | None:
    """The digest that said `state`, or None when it cannot be continued on this machine."""
    library = _library()
    if library is None or state is None:
        return None
    try:
        return _taken_up(library, state)
    except ValueError:
        return None


class _Portable:
    def __init__(self) -> None:
        self._hash = hashlib.sha256()

    def update(self, data: bytearray) -> None:
        self._hash.update(data)

    def hexdigest(self) -> str:
        return self._hash.hexdigest()

    def state(self) -> str | None:
        return None


class _Context(ctypes.Structure):
    """OpenSSL's SHA256_CTX, the same since 0.9.8 and in LibreSSL, BoringSSL and AWS-LC; room in case one is larger."""

    _fields_ = (
        ("words", ctypes.c_uint32 * _WORDS),
        ("bits_low", ctypes.c_uint32),
        ("bits_high", ctypes.c_uint32),
        ("block", ctypes.c_uint8 * BLOCK),
        ("pending", ctypes.c_uint),
        ("length", ctypes.c_uint),
        ("room", ctypes.c_uint8 * 256),
    )


class _Resumable:
    def __init__(self, library: Any) -> None:
        self._library = library
        self._context = _Context()
        self._count = 0
        library.SHA256_Init(ctypes.byref(self._context))

    def update(self, data: bytearray) -> None:
        """Other threads run meanwhile: ctypes gives up the interpreter lock."""
        if data:
            view = (ctypes.c_char * len(data)).from_buffer(data)
            self._library.SHA256_Update(ctypes.byref(self._context), view, ctypes.c_size_t(len(data)))
            self._count += len(data)

    def hexdigest(self) -> str:
        last = _Context.from_buffer_copy(self._context)
        out = (ctypes.c_uint8 * 32)()
        self._library.SHA256_Final(out, ctypes.byref(last))
        return bytes(out).hex()

    def state(self) -> str:
        words = "".join(f"{word:08x}" for word in self._context.words)
        return f"{self._count}:{words}:{bytes(self._context.block)[: self._count % BLOCK].hex()}"

    def set(self, count: int, words: list[int]) -> None:
        """Go on after `count` bytes, a multiple of the block."""
        self._context.words[:] = words
        self._context.bits_low = (count * 8) & 0xFFFFFFFF
        self._context.bits_high = (count * 8) >> 32
        self._count = count


def _taken_up(library: Any, state: str) -> _Resumable:
    """Raises ValueError for what `state` never says."""
    length, words, tail = state.split(":")
    values = [int(words[at : at + 8], 16) for at in range(0, len(words), 8)]
    count, pending = int(length), bytearray.fromhex(tail)
    if len(values) != _WORDS or count < 0 or len(pending) != count % BLOCK:
        raise ValueError(state)
    digest = _Resumable(library)
    digest.set(count - len(pending), values)
    digest.update(pending)
    return digest


@cache
def _library() -> Any:
    """The library hashlib uses, found through its module so that no second one is loaded; None if it does not do."""
    try:
        import _hashlib

        library = ctypes.CDLL(_hashlib.__file__)
        return library if _works(library) else None
    except (ImportError, OSError, AttributeError):
        return None


def _works(library: Any) -> bool:
    """Does a digest taken up at a block and in the middle of one end as hashlib's does?"""
    sample = bytearray(range(256)) * 5
    digest = _Resumable(library)
    at = 0
    for end in (BLOCK, 5 * BLOCK, 5 * BLOCK + 7, len(sample)):
        digest.update(sample[at:end])
        at = end
        digest = _taken_up(library, digest.state())
    return digest.hexdigest() == hashlib.sha256(sample).hexdigest()
