"""One `up` or `down` of a local stack at a time."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from deployer.errors import LockedError


@contextmanager
def stack_lock(folder: Path) -> Iterator[None]:
    """Hold `<folder>.lock` for the block; the kernel lets go when the process ends, however it ends.

    Raises LockedError when another process holds it.
    """
    path = folder.with_name(f"{folder.name}.lock")
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    descriptor = _acquire(path)
    try:
        yield
    finally:
        # Removed while it is still held, so that nobody can hold a lock on a name that means another file.
        path.unlink(missing_ok=True)
        os.close(descriptor)


def _acquire(path: Path) -> int:
    while True:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            holder = os.pread(descriptor, 32, 0).decode("ascii", "replace").strip()
            os.close(descriptor)
            raise LockedError(
                f"another deployer ({f'process {holder}' if holder else 'a process'}) works on this stack now",
                where=str(path),
                hint="wait for it, or end it",
            ) from error
        if _still_named(descriptor, path):
            os.truncate(descriptor, 0)
            os.pwrite(descriptor, str(os.getpid()).encode("ascii"), 0)
            return descriptor
        os.close(descriptor)


def _still_named(descriptor: int, path: Path) -> bool:
    """False when the holder before us removed the file after we had opened it."""
    mine = os.fstat(descriptor)
    try:
        named = path.stat()
    except FileNotFoundError:
        return False
    return (mine.st_dev, mine.st_ino) == (named.st_dev, named.st_ino)
