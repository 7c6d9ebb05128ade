"""A port on this machine's loopback that leads through SSH to a port on the instance's loopback."""

from __future__ import annotations

import contextlib
import errno
import selectors
import socket
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING

from deployer.access.errors import SshError
from deployer.access.ssh import SshSession
from deployer.access.streams import abort, forward
from deployer.errors import DeployerError, RefusedError

if TYPE_CHECKING:
    import paramiko

Reconnect = Callable[[], SshSession]

#: close() waits that long for each stream; one that still logs in again ends on its own.
_JOIN_SECONDS = 2.0


class Tunnel:
    """Forwards every connection to local_port over a channel of its own. It owns the session it was given.

    A context manager; close may be called twice and ends every thread and connection.
    """

    def __init__(
        self, session: SshSession, remote_port: int, listener: socket.socket, reconnect: Reconnect | None
    ) -> None:
        self.local_port: int = listener.getsockname()[1]
        self.remote_port = remote_port
        self._session = session
        self._reconnect = reconnect
        self._renewing = threading.Lock()
        self._wake_reader, self._wake_writer = socket.socketpair()
        self._closed = threading.Event()
        self._lock = threading.Lock()
        self._clients: dict[threading.Thread, socket.socket] = {}
        self._last_error: DeployerError | None = None
        self._acceptor = threading.Thread(
            target=self._accept, args=(listener,), name=f"tunnel-{self.local_port}", daemon=True
        )
        self._acceptor.start()

    @property
    def alive(self) -> bool:
        """Does the SSH connection stand? A tunnel with `reconnect` heals at its next connection."""
        return self._session.alive

    @property
    def last_error(self) -> DeployerError | None:
        """Why the latest connection could not be forwarded; None after one that could."""
        return self._last_error

    def close(self) -> None:
        """Stop listening, cut every stream, end the SSH connection, wait for the threads."""
        if self._closed.is_set():
            return
        self._closed.set()
        self._wake_writer.close()
        self._acceptor.join()
        self._wake_reader.close()
        with self._lock:
            streams = dict(self._clients)
        for client in streams.values():
            with contextlib.suppress(OSError):
                client.shutdown(socket.SHUT_RDWR)
        self._session.close()
        for thread in streams:
            thread.join(_JOIN_SECONDS)

    def __enter__(self) -> Tunnel:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _accept(self, listener: socket.socket) -> None:
        with listener, selectors.DefaultSelector() as selector:
            selector.register(listener, selectors.EVENT_READ)
            selector.register(self._wake_reader, selectors.EVENT_READ)
            while not self._closed.is_set():
                selector.select()
                with contextlib.suppress(BlockingIOError, ConnectionAbortedError):
                    client, _ = listener.accept()
                    client.setblocking(True)
                    self._start(client)

    def _start(self, client: socket.socket) -> None:
        thread = threading.Thread(target=self._serve, args=(client,), name="tunnel-stream", daemon=True)
        with self._lock:
            self._clients[thread] = client
        thread.start()

    def _serve(self, client: socket.socket) -> None:
        try:
            channel = self._open_channel()
        except DeployerError as error:
            self._last_error = error
            abort(client)
        else:
            self._last_error = None
            forward(client, channel)
        finally:
            with self._lock:
                del self._clients[threading.current_thread()]

    def _open_channel(self) -> paramiko.Channel:
        session = self._session
        try:
            return session.open_stream(self.remote_port)
        except SshError as error:
            if error.reason == "refused" or self._reconnect is None:
                raise
            return self._renew(session, self._reconnect).open_stream(self.remote_port)

    def _renew(self, broken: SshSession, reconnect: Reconnect) -> SshSession:
        """One new session for all the streams that meet the same broken one."""
        with self._renewing:
            if self._session is broken and not self._closed.is_set():
                broken.close()
                self._session = reconnect()
            if self._closed.is_set():
                self._session.close()
            return self._session


def open_tunnel(
    session: SshSession, remote_port: int, *, local_port: int = 0, reconnect: Reconnect | None = None
) -> Tunnel:
    """Listen on 127.0.0.1:local_port (0: any free port) and forward to the instance's 127.0.0.1:remote_port.

    reconnect: makes a new session when the old one is gone; called at the next connection, by one thread at a time.
    Raises RefusedError when the local port is taken.
    """
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(("127.0.0.1", local_port))
        listener.listen(128)
        listener.setblocking(False)
    except OSError as error:
        listener.close()
        if error.errno in (errno.EADDRINUSE, errno.EACCES):
            why = "is in use" if error.errno == errno.EADDRINUSE else "may not be used by you"
            raise RefusedError(
                f"port {local_port} on this machine {why}",
                where=f"127.0.0.1:{local_port}",
                hint="choose another local port, or end the program that listens there",
            ) from error
        raise
    return Tunnel(session, remote_port, listener, reconnect)
