"""Machines of kind `process`: an instance is a folder, a loopback address and child processes of this computer.

Needs no privileges. Its user-data is taken apart as cloud-init would, its units run as systemd would run them, and it
has a metadata service, an ssh server and a console of its own. It has no kernel, no container, no limit of memory.
"""

from __future__ import annotations

import os
import shutil
import threading
from collections.abc import Mapping
from pathlib import Path

from deployer.clock import Clock, SystemClock
from deployer.errors import CapacityError
from deployer.rehearsal.engine.locate import EngineCommand, find_engine
from deployer.rehearsal.machines import processes
from deployer.rehearsal.machines.addresses import Addresses, free_ssh_port
from deployer.rehearsal.machines.base import MachineLaunch
from deployer.rehearsal.machines.process_machine import ProcessMachine, Site

#: On a small shared computer one thread is the fastest, by far.
ENGINE_THREADS = 1


class ProcessHypervisor:
    """Boots process machines below state_dir/machines.

    cloud_url: the embedded AWS, for the machines' AWS_ENDPOINT_URL. engine_env: added to the environment of every
    process on a machine. environ: where $DEPLOYER_LLAMA_SERVER and PATH are looked up.
    """

    kind = "process"

    def __init__(
        self,
        state_dir: Path,
        *,
        cloud_url: str,
        ssh_port: int | None = None,
        engine_env: Mapping[str, str] | None = None,
        environ: Mapping[str, str] | None = None,
        clock: Clock | None = None,
    ) -> None:
        self.ssh_port = ssh_port if ssh_port is not None else free_ssh_port()
        self.engine: EngineCommand = find_engine(os.environ if environ is None else environ)
        self._folder = machines_folder(state_dir)
        self._cloud_url = cloud_url
        self._engine_env = dict(engine_env or {})
        self._clock = clock or SystemClock()
        self._addresses = Addresses()
        self._machines: dict[str, ProcessMachine] = {}
        self._lock = threading.Lock()

    @property
    def one_at_a_time(self) -> bool:
        """True where the system has a single loopback address, as macOS has."""
        return not self._addresses.many

    def allocate_address(self) -> str:
        """An unused loopback address. Raises CapacityError when none is left."""
        return self._addresses.allocate()

    def boot(self, launch: MachineLaunch) -> ProcessMachine:
        """A running machine; it returns when cloud-init's work is done, the services go on starting by themselves.

        Raises CapacityError when another machine holds the launch's address.
        """
        if not self._addresses.owns(launch.address) and not self._addresses.claim(launch.address):
            raise CapacityError(f"the address {launch.address} is taken by another machine")
        site = Site(
            folder=self._folder / launch.instance_id,
            ssh_port=self.ssh_port,
            cloud_url=self._cloud_url,
            engine=self.engine,
            engine_threads=ENGINE_THREADS,
            extra_environment=self._engine_env,
            clock=self._clock,
            halted=lambda: self._addresses.release(launch.address),
        )
        machine = ProcessMachine(launch, site)
        with self._lock:
            self._machines[launch.instance_id] = machine
        machine.power_on()
        return machine

    def close(self) -> None:
        """Halt every machine and give back every address."""
        with self._lock:
            machines = list(self._machines.values())
        threads = [threading.Thread(target=machine.halt) for machine in machines]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self._addresses.close()


def machines_folder(state_dir: Path) -> Path:
    """Where machines of a state directory live."""
    return state_dir.resolve() / "machines"


def reap(state_dir: Path) -> int:
    """End whatever a hypervisor that crashed left running and remove its folders; how many processes there were.

    Processes are known by the mark in their environment, so a process id that was used again is not touched.
    """
    folder = machines_folder(state_dir)
    left = len(processes.members(str(folder)))
    processes.end(str(folder), patience=5.0)
    shutil.rmtree(folder, ignore_errors=True)
    return left
