"""Boots machines in containers: one network, one firewall and one metadata service for all of a sandbox."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from urllib.parse import urlsplit

from deployer.clock import Clock, SystemClock
from deployer.errors import CapacityError, RefusedError
from deployer.rehearsal.machines.base import IngressRule, MachineLaunch
from deployer.rehearsal.machines.booted import cgroups, host, slots
from deployer.rehearsal.machines.booted.disk import Disk, shared_folders
from deployer.rehearsal.machines.booted.fabric import Fabric
from deployer.rehearsal.machines.booted.machine import BootedMachine
from deployer.rehearsal.machines.booted.nspawn import Container
from deployer.rehearsal.machines.booted.rootfs import rootfs_path

#: Left to the host whatever an instance type promises.
HOST_RESERVE_MIB = 1024
_SSH_PORT = 22
_MIRROR = "DEPLOYER_MIRROR_"


class BootedHypervisor:
    """Boots machines below state_dir/machines. cloud_url: the embedded AWS, on loopback.

    Raises RefusedError when this host cannot, HostError when it refuses in the middle.
    """

    kind = "booted"

    def __init__(self, state_dir: Path, *, cloud_url: str, clock: Clock | None = None) -> None:
        if reason := host.available(state_dir):
            raise RefusedError(f"machines cannot be booted here: {reason}", hint="--machines process needs none of it")
        layout = cgroups.find_layout()
        assert layout is not None
        self._layout = layout
        self._clock = clock or SystemClock()
        self._folder = state_dir.resolve() / "machines"
        slots.reap(self._clock)
        self.slot = slots.take(self._folder, self._clock)
        try:
            self.fabric = Fabric(self.slot, self._clock)
            self._endpoint_url = self.fabric.publish(cloud_url)
        except BaseException:
            slots.release(self.slot, self._clock)
            raise
        self._free = self.slot.addresses()
        self._machines: dict[str, BootedMachine] = {}
        self._addresses: dict[str, str] = {}
        self._rules: dict[str, tuple[IngressRule, ...]] = {}
        self._lock = threading.Lock()

    def allocate_address(self) -> str:
        """An unused address, the one that has been so for longest. Raises CapacityError when none is left."""
        with self._lock:
            if not self._free:
                raise CapacityError(f"no free address in {self.slot.network}")
            return self._free.pop(0)

    def boot(self, launch: MachineLaunch) -> BootedMachine:
        """Power on; it returns at once, the console tells how the machine comes up. Raises HostError."""
        name, address = launch.instance_id, launch.address
        folder = self._folder / name
        disk = Disk(folder / "disk")
        disk.prepare(launch, endpoint_url=self._endpoint_url, nameserver=self.slot.services)
        with self._lock:
            if address in self._free:
                self._free.remove(address)
            self._addresses[name] = address
            rules = self._rules.get(name, ())
        try:
            namespace = self.fabric.attach(launch, rules)
            limit = min(launch.memory_mib, cgroups.host_memory_mib() - HOST_RESERVE_MIB)
            container = Container(
                name=name,
                disk=disk,
                image=rootfs_path(),
                shared=shared_folders(),
                namespace=namespace,
                layout=self._layout,
                group=cgroups.create(self._layout, self.slot.name, name, limit),
                console=folder / "console.log",
            )
            machine = BootedMachine(container, self._clock, lambda: self._release(name))
            with self._lock:
                self._machines[name] = machine
            machine.power_on()
        except BaseException:
            self._release(name)
            raise
        # What changed while it was being attached.
        self._enforce(name)
        return machine

    def apply_firewall(self, instance_id: str, rules: Sequence[IngressRule]) -> None:
        """Let in what these rules say, from now on and from its boot on."""
        with self._lock:
            if self._rules.get(instance_id) == tuple(rules):
                return
            self._rules[instance_id] = tuple(rules)
        self._enforce(instance_id)

    def client_env(self, env: Mapping[str, str]) -> dict[str, str]:
        """Real addresses and ports: ssh on 22, mirrors where machines reach them too, the operator on the fabric."""
        changes = {name: self.fabric.publish(url) for name, url in env.items() if _is_loopback_mirror(name, url)}
        pairs = [pair for pair in env.get("DEPLOYER_SET", "").split(";") if not pair.startswith("access.port=")]
        changes["DEPLOYER_SET"] = ";".join([*pairs, f"access.port={_SSH_PORT}"])
        changes["DEPLOYER_MY_CIDR"] = f"{self.slot.client}/32"
        for name in ("NO_PROXY", "no_proxy"):
            changes[name] = ",".join(filter(None, (env.get(name), self.slot.services)))
        return changes

    def close(self) -> None:
        """Halt every machine, take the network away and give the slot back."""
        with self._lock:
            machines = list(self._machines.values())
        threads = [threading.Thread(target=machine.halt) for machine in machines]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.fabric.close()
        slots.release(self.slot, self._clock)

    def _enforce(self, instance_id: str) -> None:
        with self._lock:
            address = self._addresses.get(instance_id)
            if address is not None:
                self.fabric.apply(address, self._rules.get(instance_id, ()))

    def _release(self, instance_id: str) -> None:
        with self._lock:
            address = self._addresses.pop(instance_id)
            self._machines.pop(instance_id, None)
        self.fabric.detach(address)
        with self._lock:
            self._free.append(address)


def _is_loopback_mirror(name: str, url: str) -> bool:
    return name.startswith(_MIRROR) and urlsplit(url).hostname == "127.0.0.1"
