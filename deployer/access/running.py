"""A remote command as if it were a local one: both outputs as they come, standard input, the exit status."""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING

from deployer.access.errors import SshError
from deployer.access.ssh import SshSession
from deployer.access.streams import close_channel

if TYPE_CHECKING:
    import paramiko

Sink = Callable[[bytes], object]

_CHUNK = 65536


def run(session: SshSession, argv: list[str], *, out: Sink, err: Sink, stdin: int | None = None) -> int:
    """Run the command to its end and give its exit status.

    stdin: a descriptor to forward; None gives the command an empty input. What a sink raises ends the command's
    channel and is raised here. Raises SshError when no exit status came: the connection broke, or a signal ended it.
    """
    channel = session.open_command(argv)
    failures: list[BaseException] = []
    try:
        threading.Thread(target=_feed, args=(stdin, channel), name="exec-stdin", daemon=True).start()
        errors = threading.Thread(target=_pour, args=(channel.recv_stderr, err, channel, failures), daemon=True)
        errors.start()
        _pour(channel.recv, out, channel, failures)
        errors.join()
        if failures:
            raise failures[0]
        status = channel.recv_exit_status()
    finally:
        close_channel(channel)
    if status < 0:
        raise _without_status(session)
    return status


def _pour(read: Callable[[int], bytes], sink: Sink, channel: paramiko.Channel, failures: list[BaseException]) -> None:
    """Copy to the end of the stream; a sink that fails ends both streams."""
    with contextlib.suppress(OSError, EOFError):
        while data := read(_CHUNK):
            try:
                sink(data)
            except Exception as error:  # noqa: BLE001 — carried over to the caller's thread
                failures.append(error)
                close_channel(channel)
                return


def _feed(stdin: int | None, channel: paramiko.Channel) -> None:
    with contextlib.suppress(OSError, EOFError):
        while stdin is not None and (data := os.read(stdin, _CHUNK)):
            channel.sendall(data)
    with contextlib.suppress(OSError, EOFError):
        channel.shutdown_write()


def _without_status(session: SshSession) -> SshError:
    if session.alive:
        return SshError(
            "the command ended without an exit status: a signal ended it",
            reason="closed",
            where=session.target.name,
            hint="`deployer logs` shows whether the machine ran out of memory",
        )
    return SshError(
        "the connection broke while the command ran; it may still be running there",
        reason="closed",
        where=session.target.name,
        hint="try again; `deployer status` shows whether the machine is up",
    )
