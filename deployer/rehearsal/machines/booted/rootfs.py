"""The root file system that every booted machine stands on: built once, kept in the user's cache, never written to."""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from platformdirs import user_cache_path

from deployer.errors import DeployerError, RefusedError
from deployer.rehearsal.machines.booted import image, slots

_DONE = "image.json"
_OWN_SOURCES = (Path("/etc/apt/sources.list"), *sorted(Path("/etc/apt/sources.list.d").glob("*")))
_TOOL = "mmdebstrap"
_PREFIX = "machine-image-"


def rootfs_path() -> Path:
    """Where the image of this version's recipe is or would be; another recipe has another place."""
    recipe = json.dumps([image.SUITE, image.PACKAGES, image.EXCLUDED, image.FILES, image.MASKED], sort_keys=True)
    return user_cache_path("deployer") / f"{_PREFIX}{hashlib.sha256(recipe.encode()).hexdigest()[:12]}"


def is_built() -> bool:
    """Whether it is there, whole."""
    return (rootfs_path() / _DONE).is_file()


def build_rootfs(progress: Callable[[str], None], *, mirror: str | None = None, again: bool = False) -> Path:
    """Build it unless it is there; about a minute and 300 MB. Returns its path.

    progress: told what goes on, a sentence at a time. mirror: base URL of a Debian archive; by default the host's own
    sources where they are of the same release, else the archive's own address. again: also when it is there.
    Images of other versions are removed unless a machine could stand on them.
    Raises RefusedError when this host cannot build it, DeployerError when building failed.
    """
    _refuse_if_unable()
    target = rootfs_path()
    with _only_one(target.parent):
        if is_built() and not again:
            return target
        if is_built() and slots.in_use():
            raise RefusedError("a sandbox's machines stand on this image", hint="deployer sandbox stop")
        draft = target.with_suffix(".draft")
        shutil.rmtree(draft, ignore_errors=True)
        progress(f"building {target}")
        _bootstrap(draft, _sources(mirror), progress)
        progress("configuring")
        image.configure(draft)
        (draft / _DONE).write_text(json.dumps({"suite": image.SUITE, "packages": image.PACKAGES}), encoding="utf-8")
        if not slots.in_use():
            for old in target.parent.glob(f"{_PREFIX}*"):
                if old.is_dir() and old != draft:
                    shutil.rmtree(old, ignore_errors=True)
        draft.rename(target)
    return target


def _refuse_if_unable() -> None:
    if os.geteuid() != 0:
        raise RefusedError("a machine image can only be built by root")
    if shutil.which(_TOOL) is None:
        raise RefusedError(f"{_TOOL} is missing", hint=f"apt-get install {_TOOL} debian-archive-keyring")


def _bootstrap(folder: Path, sources: list[str], progress: Callable[[str], None]) -> None:
    command = [_TOOL, "--variant=minbase", "--format=directory", "--dpkgopt=force-unsafe-io"]
    command += ['--aptopt=Acquire::Languages "none"', "--include=" + ",".join(image.PACKAGES)]
    command += [f"--dpkgopt=path-exclude={pattern}" for pattern in image.EXCLUDED]
    with subprocess.Popen(
        [*command, image.SUITE, str(folder), *sources],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
    ) as builder:
        assert builder.stderr is not None
        said = []
        for line in builder.stderr:
            said.append(line.strip())
            if line.startswith("I: "):
                progress(line[3:].strip())
    if builder.returncode:
        shutil.rmtree(folder, ignore_errors=True)
        failed = [line for line in said if line.startswith("E: ")] or said
        raise DeployerError(
            f"building the machine image failed: {failed[-1] if failed else f'exit status {builder.returncode}'}",
            where=_TOOL,
            hint="check the way to the Debian archive, or name a nearer one with --mirror URL",
        )


def _sources(mirror: str | None) -> list[str]:
    """What mmdebstrap takes packages from; nothing lets it use the archive's own address."""
    if mirror is not None:
        return [mirror]
    suite = re.compile(rf"(^|\s){image.SUITE}(\s|$)", re.MULTILINE)
    return [str(path) for path in _OWN_SOURCES if path.is_file() and suite.search(path.read_text(encoding="utf-8"))]


@contextmanager
def _only_one(folder: Path) -> Iterator[None]:
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / f"{_PREFIX}lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
