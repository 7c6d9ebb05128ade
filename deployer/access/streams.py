"""One forwarded connection: two threads that copy bytes, one for each direction.

Blocking reads and writes are the back-pressure: a slow reader stops its writer through the TCP and SSH windows.
"""

from __future__ import annotations

import contextlib
import socket
import struct
import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import paramiko

_CHUNK = 32768


def forward(client: socket.socket, channel: paramiko.Channel) -> None:
    """Copy until both directions have ended, then close both. An end of one direction leaves the other open.

    When the far side vanishes without an orderly end, the client is reset, see `abort`.
    """
    upload = threading.Thread(target=_upload, args=(client, channel), name="tunnel-upload", daemon=True)
    upload.start()
    whole = _download(channel, client)
    if not whole:
        with contextlib.suppress(OSError):
            client.shutdown(socket.SHUT_RD)  # wakes the upload without a word to the client
    upload.join()
    close_channel(channel)
    if whole:
        client.close()
    else:
        abort(client)


def close_channel(channel: paramiko.Channel) -> None:
    """Close it whatever state its connection is in; paramiko raises when it cannot tell the far side."""
    with contextlib.suppress(OSError, EOFError):
        channel.close()


def abort(client: socket.socket) -> None:
    """Close with a reset, so that the reader cannot take a cut answer for a complete one."""
    with contextlib.suppress(OSError):
        client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    client.close()


def _upload(client: socket.socket, channel: paramiko.Channel) -> None:
    try:
        while data := client.recv(_CHUNK):
            channel.sendall(data)
        channel.shutdown_write()
    except (OSError, EOFError):
        close_channel(channel)


def _download(channel: paramiko.Channel, client: socket.socket) -> bool:
    """True when the far side ended its stream in order."""
    try:
        while data := channel.recv(_CHUNK):
            client.sendall(data)
        if channel.eof_received:
            client.shutdown(socket.SHUT_WR)
            return True
    except (OSError, EOFError):
        close_channel(channel)
    return False
