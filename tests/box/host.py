"""What is on this host of a sandbox's booted machines."""

from __future__ import annotations

import contextlib
import subprocess
from pathlib import Path

from deployer.rehearsal.machines.booted import slots
from deployer.rehearsal.machines.booted.names import Slot


def traces(slot: Slot) -> list[str]:
    """Namespaces, links, control groups, processes, mounts and the registry's entry; empty when nothing is left."""
    groups = [path for path in Path("/sys/fs/cgroup").rglob(slot.name) if path.is_dir()]
    names = [f"namespace {path.name}" for path in Path("/run/netns").glob("*") if slot.owns(path.name)]
    links = [f"link {path.name}" for path in Path("/sys/class/net").glob(slot.name)]
    routes = [f"route {line}" for line in _lines("ip", "route") if f"198.18.{slot.number}." in line]
    mounts = [f"mount {line}" for line in _lines("cat", "/proc/self/mountinfo") if slot.name in line.split()[4]]
    entry = [str(path) for path in slots.REGISTRY.glob(f"{slot.number}.json")]
    return [*names, *links, *routes, *mounts, *entry, *(f"group {path}" for path in groups)]


def containers(folder: Path) -> list[str]:
    """Command lines of the containers whose disk is below a folder."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            words = path.read_text().split("\0")
            if words[0].endswith("systemd-nspawn") and any(str(folder) in word for word in words):
                found.append(" ".join(words))
    return found


def _lines(*argv: str) -> list[str]:
    return subprocess.run(argv, capture_output=True, text=True, check=True).stdout.splitlines()
