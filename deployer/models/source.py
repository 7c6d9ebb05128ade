"""Reading a file in pieces, wherever it lies: what every kind of source offers, and the local one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Protocol

from deployer.clock import Clock
from deployer.errors import DeployerError, RefusedError

_CHUNK = 1 << 20
#: A cut is answered by asking for the rest. Seconds before each of the tries that follow one without a single byte.
_PAUSES = (0.5, 1.0, 2.0, 4.0, 8.0)


class SourceError(RefusedError):
    """The source cannot be read; the message says why in one sentence."""

    code = "source"


class SourceChanged(SourceError):
    """The source is not what it was when the push began: what was sent of it is worth nothing."""


class Flaky(Exception):
    """The source failed in a way that the next try may not. The text says how."""


class Stopped(Exception):
    """Somebody else failed or the person pressed Ctrl-C: nothing more is wanted."""


class Source(Protocol):
    """shown: for people. size in bytes. tag: changes when the file does, None if nothing tells. sha256: if it is known.

    chunks gives `length` bytes from `start` on, or raises Flaky early; it raises SourceError when there is no hope.
    """

    shown: str
    size: int
    tag: str | None
    sha256: str | None

    def chunks(self, start: int, length: int) -> Iterator[bytes]: ...
    def close(self) -> None: ...


class FileSource:
    """A file of this machine. Raises SourceError for what is no readable file."""

    sha256: str | None = None

    def __init__(self, path: str) -> None:
        self._path = Path(path).expanduser()
        self.shown = str(self._path)
        if self._path.is_dir():
            raise SourceError(f"{self.shown} is a directory, not a GGUF file", hint="name the .gguf file in it")
        try:
            self._stream = self._path.open("rb")
            found = self._path.stat()
        except FileNotFoundError:
            raise SourceError(f"there is no file {self.shown}") from None
        except OSError as error:
            raise SourceError(f"{self.shown} cannot be read: {error.strerror}") from None
        self.size = found.st_size
        self.tag: str | None = f"{found.st_size}-{found.st_mtime_ns}"

    def chunks(self, start: int, length: int) -> Iterator[bytes]:
        """Each call has a file position of its own, so that threads do not meet."""
        with self._path.open("rb") as stream:
            stream.seek(start)
            while length > 0:
                chunk = stream.read(min(length, _CHUNK))
                if not chunk:
                    raise SourceChanged(f"{self.shown} became shorter while it was read")
                length -= len(chunk)
                yield chunk

    def close(self) -> None:
        self._stream.close()


def read_exactly(
    source: Source,
    start: int,
    length: int,
    clock: Clock,
    *,
    on_bytes: Callable[[int], None] = lambda _count: None,
    stopped: Callable[[], bool] = lambda: False,
) -> bytearray:
    """These bytes, asking again for the rest after a cut. on_bytes is told of every piece.

    Raises SourceError when the source stays silent, Stopped when `stopped` says so.
    """
    data, have, silent = bytearray(length), 0, 0
    while have < length:
        before = have
        try:
            for chunk in source.chunks(start + have, length - have):
                data[have : have + len(chunk)] = chunk
                have += len(chunk)
                on_bytes(len(chunk))
                if stopped():
                    raise Stopped
        except Flaky as why:
            silent = silent + 1 if have == before else 0
            if silent > len(_PAUSES):
                raise gave_up(source, str(why)) from None
            clock.sleep(_PAUSES[max(silent - 1, 0)])
        if stopped():
            raise Stopped
    return data


def gave_up(source: Source, why: str) -> DeployerError:
    """The error after the last try."""
    return SourceError(
        f"{source.shown} gave no byte in {len(_PAUSES) + 1} tries: {why}",
        hint="check the network and proxy, then run the same command again",
    )
