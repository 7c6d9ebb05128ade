"""Temporary directories of rehearsals: each is claimed by its process, and what killed ones left is taken away."""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path

from deployer.errors import DeployerError
from deployer.rehearsal import sandbox
from deployer.rehearsal.product import Product, environment

_PREFIX = "deployer-rehearsal-"
#: The file that a rehearsal holds locked as long as it lives. A directory without it is nobody's to remove.
_MARK = "owner.lock"
#: Below a rehearsal's directory.
SANDBOX = "sandbox"


class Claim:
    """A new temporary directory that is swept once this process is gone, however it ends.

    The lock, unlike a process id, says so in every container that shares the directory, and no child inherits it.
    """

    def __init__(self) -> None:
        self.directory = Path(tempfile.mkdtemp(prefix=_PREFIX))
        self._lock = os.open(self.directory / _MARK, os.O_RDWR | os.O_CREAT, 0o600)
        fcntl.flock(self._lock, fcntl.LOCK_EX)

    def release(self, *, keep: bool) -> None:
        """Remove the directory, or have it outlive this process. Once only."""
        if keep:
            (self.directory / _MARK).unlink(missing_ok=True)
        else:
            shutil.rmtree(self.directory, ignore_errors=True)
        os.close(self._lock)


def sweep(own_environ: Mapping[str, str]) -> list[Path]:
    """End and remove what killed rehearsals of this user left; what was removed. Failures are left for the next."""
    removed = []
    for directory in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
        with contextlib.suppress(OSError, DeployerError):
            # Others may write to the folder for temporary files: only a real directory of our own counts.
            if directory.is_symlink() or directory.lstat().st_uid != os.getuid():
                continue
            with (directory / _MARK).open("rb+") as mark:
                # Refused while the owner, or another sweep, holds it.
                fcntl.flock(mark, fcntl.LOCK_EX | fcntl.LOCK_NB)
                sandbox.stop(directory / SANDBOX)
                _end_local_stacks(directory / SANDBOX / "home", own_environ)
                shutil.rmtree(directory)
            removed.append(directory)
    return removed


def _end_local_stacks(home: Path, own_environ: Mapping[str, str]) -> None:
    """Stacks on this machine run on when their rehearsal is killed; the product itself knows how to end them."""
    if not any(home.glob("stacks/*/record.json")):
        return
    nobody = {"AWS_CONFIG_FILE": os.devnull, "AWS_SHARED_CREDENTIALS_FILE": os.devnull}
    given = {"DEPLOYER_HOME": str(home), "AWS_EC2_METADATA_DISABLED": "true", **nobody}
    product = Product(environment(own_environ, given), home)
    for row in product.run("ls").require().objects[-1]["stacks"]:
        if row["target"] == "local":
            product.run("down", row["stack"]).require()
