"""Which sandbox has which slot, in /run, so that whatever a killed one left behind is found and taken away."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

from deployer.clock import Clock
from deployer.errors import CapacityError
from deployer.rehearsal.machines.booted import cgroups, fabric, nspawn
from deployer.rehearsal.machines.booted.commands import run
from deployer.rehearsal.machines.booted.names import SLOTS, Slot
from deployer.rehearsal.processes import ProcessId

REGISTRY = Path("/run/deployer/booted")


def take(folder: Path, clock: Clock) -> Slot:
    """A slot that nobody has, for this process. folder: where its machines will live, removed when it is cleared.

    Raises CapacityError when there is none.
    """
    me = ProcessId.of(os.getpid())
    assert me is not None
    with _locked():
        taken = run(["ip", "-4", "route", "show"])
        for number in SLOTS:
            slot = Slot(number)
            if _file(slot).exists() or f"{slot.network.removesuffix('.0/24')}." in taken:
                continue
            _clear(slot, None, clock)
            entry = {"pid": me.pid, "started": me.started, "folder": str(folder)}
            _file(slot).write_text(json.dumps(entry), encoding="utf-8")
            return slot
    raise CapacityError("every network from 198.18.0.0/24 to 198.18.255.0/24 is in use")


def release(slot: Slot, clock: Clock) -> None:
    """Clear one's own slot and give it back."""
    with _locked():
        _release(slot, clock)


def reap(clock: Clock) -> int:
    """Clear the slots whose sandbox is gone; how many there were."""
    if not REGISTRY.is_dir():
        return 0
    with _locked():
        orphans = [slot for slot in map(Slot, SLOTS) if _file(slot).exists() and not _owner_lives(slot)]
        for slot in orphans:
            _release(slot, clock)
    return len(orphans)


def in_use() -> bool:
    """Whether any sandbox that lives has booted machines, or could have."""
    return any(_owner_lives(slot) for slot in map(Slot, SLOTS))


def _release(slot: Slot, clock: Clock) -> None:
    entry = _entry(slot)
    _clear(slot, Path(entry["folder"]) if entry else None, clock)
    _file(slot).unlink(missing_ok=True)


def _clear(slot: Slot, folder: Path | None, clock: Clock) -> None:
    """Processes first: the mounts of a machine are in a namespace of its own and end with them."""
    layout = cgroups.find_layout()
    for root in layout.roots if layout else ():
        cgroups.sweep(root / slot.name, clock)
    fabric.remove(slot)
    if folder is not None:
        for machine in folder.iterdir() if folder.is_dir() else ():
            nspawn.forget(machine.name)
        shutil.rmtree(folder, ignore_errors=True)


def _owner_lives(slot: Slot) -> bool:
    entry = _entry(slot)
    return entry is not None and ProcessId(int(entry["pid"]), entry["started"]).alive()


def _entry(slot: Slot) -> dict[str, str] | None:
    try:
        document = json.loads(_file(slot).read_text(encoding="utf-8"))
        return {name: str(document[name]) for name in ("pid", "started", "folder")}
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _file(slot: Slot) -> Path:
    return REGISTRY / f"{slot.number}.json"


@contextlib.contextmanager
def _locked() -> Iterator[None]:
    REGISTRY.mkdir(parents=True, exist_ok=True, mode=0o755)
    with (REGISTRY / "lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
