"""An error nobody foresaw: the traceback goes to a file, the person gets one sentence and the file's name."""

from __future__ import annotations

import errno
import os
import sys
import tempfile
import traceback
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

from deployer import __version__
from deployer.errors import DeployerError
from deployer.settings import Settings


class OutOfSpaceError(DeployerError):
    """A disk is full: the one that output goes to, or one that state is kept on."""

    code = "disk_full"
    exit_code = 1


class UnexpectedError(DeployerError):
    """A bug, or something no rule covers. The log file it names holds the traceback."""

    code = "unexpected"
    exit_code = 1


def unexpected(error: BaseException, environ: Mapping[str, str]) -> DeployerError:
    """Write the traceback under the settings' home (or the temporary directory) and say where.

    A full disk is no bug: it is said as it is.
    """
    if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
        place = os.fsdecode(error.filename) if isinstance(error.filename, str | bytes) else "where the output goes"
        return OutOfSpaceError(f"a disk is full: {error.strerror}", where=place, hint="make room, then run it again")
    text = "".join(traceback.format_exception(error))
    head = f"deployer {__version__}, Python {sys.version.split()[0]}, {sys.platform}\n{sys.argv[1:]}\n\n"
    path = _write(head + text, environ)
    return UnexpectedError(
        f"unexpected {type(error).__name__}: {str(error).splitlines()[0] if str(error) else 'no message'}",
        where=str(path) if path else None,
        hint="the file above has the details; please report it" if path else "no log could be written",
    )


def _write(text: str, environ: Mapping[str, str]) -> Path | None:
    stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%S")
    for folder in (_home_logs, _temporary):
        try:
            directory = folder(environ)
            directory.mkdir(parents=True, exist_ok=True)
            path = directory / f"deployer-{stamp}-{os.getpid()}.log"
            with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as out:
                out.write(text)
        except (OSError, DeployerError):
            continue
        return path
    return None


def _home_logs(environ: Mapping[str, str]) -> Path:
    return Settings.from_env(environ).home / "logs"


def _temporary(_environ: Mapping[str, str]) -> Path:
    return Path(tempfile.gettempdir())
