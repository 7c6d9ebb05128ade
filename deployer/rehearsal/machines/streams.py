"""Joins an ssh channel with a TCP connection, both ways, half-closing as either side does."""

from __future__ import annotations

import contextlib
import socket
import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import paramiko

_CHUNK = 65536
#: How soon a channel that the client closed for good is noticed, seconds.
_POLL = 0.1


def pump(channel: paramiko.Channel, connection: socket.socket) -> None:
    """Copy in two threads and return at once; when both directions ended, both sides are closed."""
    downward_ended = threading.Event()

    def upward() -> None:
        with contextlib.suppress(OSError, EOFError):
            while data := channel.recv(_CHUNK):
                connection.sendall(data)
        _shut(connection, socket.SHUT_WR)
        # The client may still read the answer, unless it closed the channel: then the server must learn it.
        while not downward_ended.wait(_POLL):
            if channel.closed:
                _shut(connection, socket.SHUT_RDWR)
        connection.close()
        with contextlib.suppress(OSError, EOFError):
            channel.close()

    def downward() -> None:
        with contextlib.suppress(OSError, EOFError):
            while data := connection.recv(_CHUNK):
                channel.sendall(data)
        with contextlib.suppress(OSError, EOFError):
            channel.shutdown_write()
        downward_ended.set()

    for copy in (upward, downward):
        threading.Thread(target=copy, name="sshd-stream", daemon=True).start()


def _shut(connection: socket.socket, how: int) -> None:
    with contextlib.suppress(OSError):
        connection.shutdown(how)
