"""Control groups of booted machines: `dpl-<slot>/<instance>` in each hierarchy that is needed.

Two layouts occur: one unified hierarchy with every controller, or a unified one without controllers beside a version 1
hierarchy for memory. The machine's own systemd gets the unified one; the limit is set where the controller is.
"""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from deployer.clock import Clock

_SWEEP_SECONDS = 5.0
_POLL = 0.02


@dataclass(frozen=True)
class Layout:
    """unified: mount point of the version 2 hierarchy. memory: of a version 1 memory hierarchy, where that limits."""

    unified: Path
    memory: Path | None

    @property
    def roots(self) -> tuple[Path, ...]:
        """Both mount points, or the one."""
        return (self.unified,) if self.memory is None else (self.unified, self.memory)


@dataclass(frozen=True)
class Group:
    """One machine's groups, one directory in each hierarchy. The first is that of the machine's systemd."""

    directories: tuple[Path, ...]

    def kill(self) -> None:
        """SIGKILL to every process in it."""
        for directory in self.directories:
            _kill(directory)

    def processes(self) -> list[int]:
        """Ids of the processes in it."""
        return [pid for directory in self.directories[:1] for pid in _members(directory)]

    def remove(self, clock: Clock) -> None:
        """End what still runs in it and remove it."""
        for directory in self.directories:
            sweep(directory, clock)


def find_layout(mountinfo: str | None = None) -> Layout | None:
    """What this host has mounted; None when nothing can be used. mountinfo: the text of /proc/self/mountinfo."""
    text = Path("/proc/self/mountinfo").read_text(encoding="utf-8") if mountinfo is None else mountinfo
    unified = memory = None
    for line in text.splitlines():
        before, _, after = line.partition(" - ")
        mount_point, options = before.split()[4:6]
        kind, _, controllers = (*after.split(), "", "")[:3]
        if "rw" not in options.split(","):
            continue
        if kind == "cgroup2":
            unified = unified or Path(mount_point)
        elif kind == "cgroup" and "memory" in controllers.split(","):
            memory = Path(mount_point)
    if unified is None:
        return None
    if memory is None and mountinfo is None and "memory" not in _words(unified / "cgroup.controllers"):
        return None
    return Layout(unified, memory)


def create(layout: Layout, slot: str, name: str, memory_mib: int) -> Group:
    """Make a machine's groups with its limit of memory."""
    limit = str(memory_mib * 2**20)
    directories = []
    for root in layout.roots:
        directory = root / slot / name
        if layout.memory is None:
            (root / slot).mkdir(exist_ok=True)
            for above in (root, root / slot):
                (above / "cgroup.subtree_control").write_text("+memory", encoding="ascii")
        directory.mkdir(parents=True, exist_ok=True)
        directories.append(directory)
    if layout.memory is None:
        (directories[0] / "memory.max").write_text(limit, encoding="ascii")
    else:
        (directories[-1] / "memory.limit_in_bytes").write_text(limit, encoding="ascii")
    return Group(tuple(directories))


def sweep(directory: Path, clock: Clock) -> None:
    """Kill every process below a directory of ours and remove it, as often as it takes for a while."""
    deadline = clock.monotonic() + _SWEEP_SECONDS
    while directory.is_dir():
        _kill(directory)
        for inner in _tree(directory):
            with contextlib.suppress(OSError):
                inner.rmdir()
        if clock.monotonic() > deadline:
            return
        if directory.is_dir():
            clock.sleep(_POLL)


def host_memory_mib() -> int:
    """All the memory of this host."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2**20


def _kill(directory: Path) -> None:
    for pid in _members(directory):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def _members(directory: Path) -> Iterator[int]:
    for inner in _tree(directory):
        yield from (int(word) for word in _words(inner / "cgroup.procs"))


def _tree(directory: Path) -> list[Path]:
    """The directory and those below it, innermost first."""
    return [Path(found) for found, _, _ in os.walk(directory, topdown=False)]


def _words(path: Path) -> list[str]:
    try:
        return path.read_text(encoding="ascii").split()
    except OSError:
        return []
