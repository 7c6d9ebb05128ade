"""Commands on the builder instance: over one SSH connection, lines as they come, a file or a secret through stdin."""

from __future__ import annotations

import io
import tarfile
import threading
from collections import deque
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from deployer.access.errors import SshError
from deployer.access.streams import close_channel
from deployer.images.commands import KEPT_LINES, Done

if TYPE_CHECKING:
    import paramiko
    from _typeshed import ReadableBuffer

    from deployer.access.ssh import SshSession

#: A compiler says nothing for minutes at a time.
SILENCE_SECONDS = 1800.0
_CHUNK = 32768


class Remote:
    """The far machine. Its commands run as root, for the daemon's socket is root's."""

    def __init__(self, session: SshSession) -> None:
        self._session = session

    def run(
        self,
        argv: Sequence[str],
        *,
        feed: Callable[[Callable[[bytes], object]], None] | None = None,
        on_line: Callable[[str], None] = lambda _line: None,
    ) -> Done:
        """Run to the end; closing the connection ends the program too. feed: writes its standard input.

        Raises SshError when the connection breaks.
        """
        channel = self._session.open_command(["sudo", *argv])
        lines: deque[str] = deque(maxlen=KEPT_LINES)
        try:
            channel.settimeout(SILENCE_SECONDS)
            channel.set_combine_stderr(True)
            writer = threading.Thread(target=_feed, args=(channel, feed), daemon=True)
            writer.start()
            with channel.makefile("r") as output:
                for raw in output:
                    line = raw.decode(errors="replace") if isinstance(raw, bytes) else raw
                    if line.strip():
                        lines.append(line.rstrip())
                        on_line(line.strip())
            writer.join()
            return Done(channel.recv_exit_status(), tuple(lines))
        except (OSError, EOFError) as error:
            raise SshError(
                f"the connection to the builder broke: {error or type(error).__name__}",
                reason="closed",
                where=self._session.target.name,
            ) from error
        finally:
            close_channel(channel)

    def send(self, files: dict[str, Path | bytes], folder: str) -> Done:
        """Put files into a folder of its own, which is made."""
        return self.run(
            ["sh", "-c", 'mkdir -p "$0" && tar -x -f - -C "$0"', folder], feed=lambda write: _pack(files, write)
        )


def _feed(channel: paramiko.Channel, feed: Callable[[Callable[[bytes], object]], None] | None) -> None:
    try:
        if feed is not None:
            feed(channel.sendall)
        channel.shutdown_write()
    except (OSError, EOFError):
        # The program ended without reading all: its exit code says why.
        return


def _pack(files: dict[str, Path | bytes], write: Callable[[bytes], object]) -> None:
    with tarfile.open(fileobj=_Writer(write), mode="w|") as packed:
        for name, content in files.items():
            entry = tarfile.TarInfo(name)
            entry.mode = 0o644
            match content:
                case bytes():
                    entry.size = len(content)
                    packed.addfile(entry, io.BytesIO(content))
                case Path():
                    entry.size = content.stat().st_size
                    with content.open("rb") as stream:
                        packed.addfile(entry, stream)


class _Writer(io.RawIOBase):
    """A stream that a program's standard input is."""

    def __init__(self, write: Callable[[bytes], object]) -> None:
        super().__init__()
        self._write = write

    def writable(self) -> bool:
        return True

    def write(self, data: ReadableBuffer) -> int:
        view = bytes(data)
        for start in range(0, len(view), _CHUNK):
            self._write(view[start : start + _CHUNK])
        return len(view)
