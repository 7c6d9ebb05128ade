"""TCP servers of this process that listen inside a network namespace."""

from __future__ import annotations

import ctypes
import os
import socket
import socketserver
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

NAMESPACES = Path("/run/netns")
#: From linux/sched.h; Python has os.setns only since 3.12.
_CLONE_NEWNET = 0x40000000
_BACKLOG = 128
_POLL = 0.05


def listen(namespace: str, address: str, port: int) -> socket.socket:
    """A listening TCP socket inside a namespace; it stays there whoever uses it. Raises OSError."""
    # A thread can be in another namespace than its process; this one ends before anything else could run in it.
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(_listen, namespace, address, port).result()


def _listen(namespace: str, address: str, port: int) -> socket.socket:
    libc = ctypes.CDLL(None, use_errno=True)
    descriptor = os.open(NAMESPACES / namespace, os.O_RDONLY | os.O_CLOEXEC)
    try:
        if libc.setns(descriptor, _CLONE_NEWNET):
            raise OSError(ctypes.get_errno(), f"cannot enter the network namespace {namespace}")
    finally:
        os.close(descriptor)
    return socket.create_server((address, port), backlog=_BACKLOG)


class NamespaceServer(socketserver.ThreadingMixIn, socketserver.TCPServer):
    """Serves on a listening socket from construction to close()."""

    daemon_threads = True
    block_on_close = False

    def __init__(self, listening: socket.socket, handler: type[socketserver.BaseRequestHandler]) -> None:
        super().__init__(listening.getsockname()[:2], handler, bind_and_activate=False)
        self.socket.close()
        self.socket = listening
        threading.Thread(target=self.serve_forever, args=(_POLL,), daemon=True).start()

    @property
    def port(self) -> int:
        """The port it listens on."""
        return int(self.server_address[1])

    def close(self) -> None:
        """Stop listening."""
        self.shutdown()
        self.server_close()

    def handle_error(self, request: object, client_address: object) -> None:
        """A peer that went away is no news, and there is nobody to tell anything else."""
