"""Carries TCP connections from inside a namespace to a port on this host's loopback."""

from __future__ import annotations

import contextlib
import socket
import socketserver
import threading

from deployer.rehearsal.machines.booted.listeners import NamespaceServer, listen

_CHUNK = 256 * 1024


def start_relay(namespace: str, address: str, target: tuple[str, int]) -> NamespaceServer:
    """Listen at an address in a namespace, on a free port, for what listens at target outside."""

    class Handler(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            with contextlib.suppress(OSError), socket.create_connection(target) as server:
                _carry(self.request, server)

    return NamespaceServer(listen(namespace, address, 0), Handler)


def _carry(client: socket.socket, server: socket.socket) -> None:
    """Both ways until both have ended; each side is half-closed as its peer was."""
    upward = threading.Thread(target=_copy, args=(client, server), daemon=True)
    upward.start()
    _copy(server, client)
    upward.join()


def _copy(source: socket.socket, sink: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while data := source.recv(_CHUNK):
            sink.sendall(data)
    with contextlib.suppress(OSError):
        sink.shutdown(socket.SHUT_WR)
