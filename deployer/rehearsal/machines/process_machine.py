"""One process machine: its folder, services and servers, from power on to halt."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from deployer.clock import Clock
from deployer.rehearsal.engine.locate import EngineCommand
from deployer.rehearsal.machines import cloud_init, processes
from deployer.rehearsal.machines.base import MachineLaunch, MachineState
from deployer.rehearsal.machines.commands import Commands
from deployer.rehearsal.machines.console import ConsoleFile
from deployer.rehearsal.machines.imds import MetadataService
from deployer.rehearsal.machines.init import Init
from deployer.rehearsal.machines.power import PowerSwitch
from deployer.rehearsal.machines.surroundings import Inside

_FOLDERS = ("dev", "etc", "root", "run", "tmp", "var/lib", "var/log")
#: Empty after every boot, as they are in memory on a real machine.
_VOLATILE = ("run", "tmp")


@dataclass(frozen=True)
class Site:
    """What the hypervisor gives a machine. folder: its own, made and removed by it. halted: called when it is over."""

    folder: Path
    ssh_port: int
    cloud_url: str
    engine: EngineCommand
    engine_threads: int
    extra_environment: Mapping[str, str]
    clock: Clock
    halted: Callable[[], None]


class ProcessMachine:
    """Power it on once; stop and halt may be called twice, by several threads too.

    A disk that an earlier machine of this launch has left by `stop` is used as it is.
    """

    def __init__(self, launch: MachineLaunch, site: Site) -> None:
        self.launch = launch
        self.root = site.folder / "root"
        self._site = site
        self._state: MachineState = "booting"
        self._lock = threading.RLock()
        self._is_gone = False
        self._is_new = not self.root.exists()
        for name in _VOLATILE:
            shutil.rmtree(self.root / name, ignore_errors=True)
        for name in _FOLDERS:
            (self.root / name).mkdir(parents=True, exist_ok=True)
        self._console = ConsoleFile(self.root / "dev" / "console")
        self._power = PowerSwitch(self._act, site.clock)
        self._init = Init(
            self.root, lambda unit: self._inside.of_unit(unit), lambda what: self._power.schedule(what, 0), site.clock
        )
        self._closers: list[Callable[[], None]] = []
        self._metadata: MetadataService | None = None

    @property
    def state(self) -> MachineState:
        """Where it is between power on and halted."""
        return self._state

    @property
    def ssh_port(self) -> int:
        """The port its ssh server listens on, at the launch's address."""
        return self._site.ssh_port

    @property
    def metadata_url(self) -> str:
        """Base URL of its metadata service."""
        assert self._metadata is not None
        return self._metadata.url

    def console(self) -> bytes:
        """Everything on its console, also after it was halted."""
        return self._console.read()

    def systemctl(self, *arguments: str) -> tuple[int, str]:
        """What the machine's own systemctl answers."""
        return self._init.systemctl(arguments)

    def power_on(self) -> None:
        """Servers up; on a new disk user-data applied and its commands run, else what is enabled started."""
        with self._lock:
            self._begin()
            if self._is_new:
                self._provision()
            else:
                self._init.start_enabled()
            self._finish()

    def reboot(self) -> None:
        """Stop the services and start those that are enabled, on the same disk. Does nothing on a halted machine."""
        with self._lock:
            if self._state != "running":
                return
            self._state = "booting"
            self._end_processes()
            self._close_servers()
            for name in _VOLATILE:
                shutil.rmtree(self.root / name, ignore_errors=True)
                (self.root / name).mkdir()
            self._begin()
            self._init.start_enabled()
            self._finish()

    def stop(self) -> None:
        """End every process and server of it; its folder and address stay for the next boot."""
        with self._lock:
            if self._state == "halted":
                return
            self._state = "halting"
            self._power.cancel()
            self._end_processes()
            self._close_servers()
            self._console.say("reboot: Power down")
            self._console.keep()
            self._state = "halted"

    def halt(self) -> None:
        """`stop`, and remove its folder and give back its address; the console's text is kept."""
        with self._lock:
            self.stop()
            if self._is_gone:
                return
            self._is_gone = True
            shutil.rmtree(self._site.folder, ignore_errors=True)
        self._site.halted()

    def _begin(self) -> None:
        from deployer.rehearsal.machines.host_key import ensure_host_key
        from deployer.rehearsal.machines.sshd import SshServer

        launch, clock = self.launch, self._site.clock
        self._console.say(
            f"[    0.000000] process machine {launch.instance_id}: no kernel boots, user-data is applied\n"
            f"[    0.000001] {launch.vcpus} vCPUs and {launch.memory_mib} MiB are promised, not enforced"
        )
        key = ensure_host_key(self.root, f"root@{self._host_name}")
        self._metadata = MetadataService(launch.address, launch.metadata, launch.user_data, clock)
        self._closers.append(self._metadata.close)
        commands = Commands(launch.address, self._command)
        self._closers.append(commands.close)
        self._inside = Inside(
            folder=self._site.folder,
            address=launch.address,
            environment_of_all={**self._site.extra_environment, **self._own_environment()},
            engine=self._site.engine,
            engine_threads=self._site.engine_threads,
            commands=commands,
            say=self._console.say,
        )
        ssh = SshServer(
            launch.address,
            self._site.ssh_port,
            key,
            launch.metadata.get("public-keys/0/openssh-key"),
            self.root,
            lambda: self._inside.environment("ssh"),
        )
        self._closers.append(ssh.close)

    def _provision(self) -> None:
        say = self._console.say
        try:
            config = cloud_init.parse(self.launch.user_data)
        except cloud_init.UserDataError as error:
            say(f"cloud-init: WARNING: user-data is not used: {error}")
            return
        for problem in config.problems:
            say(f"cloud-init: WARNING: {problem}")
        cloud_init.write_files(config.files, self.root)
        for command in config.commands:
            status, text = self._command(cloud_init.words_of(command))
            if status:
                say(f"cloud-init: ERROR: runcmd {command!r} failed with {status}: {text}")

    def _finish(self) -> None:
        from deployer.rehearsal.machines.host_key import console_block

        self._console.say(console_block(self.root))
        self._console.say(f"cloud-init finished: datasource ec2, instance {self.launch.instance_id}")
        self._state = "running"

    def _end_processes(self) -> None:
        self._init.stop_all()
        processes.end(str(self._site.folder), patience=1.0)

    def _close_servers(self) -> None:
        for close in reversed(self._closers):
            close()
        self._closers.clear()

    def _act(self, what: str) -> None:
        if what == "again":
            self.reboot()
        else:
            # Whether the disk goes too is EC2's to say (InstanceInitiatedShutdownBehavior).
            self.stop()

    def _command(self, words: Sequence[str]) -> tuple[int, str]:
        """Run one of the machine's own programs; nothing else is run on this computer in its name."""
        match [words[0].rpartition("/")[2], *words[1:]] if words else []:
            case ["systemctl", *arguments]:
                return self._init.systemctl(arguments)
            case ["shutdown", *arguments]:
                return self._power.shutdown(arguments)
            case ["poweroff" | "halt" | "reboot" as name, *_]:
                return self._init.systemctl([name])
            case [name, *_]:
                return 127, f"{name}: a process machine installs nothing, loads no module and has no firewall"
            case _:
                return 127, "no command"

    def _own_environment(self) -> dict[str, str]:
        return {
            "AWS_ENDPOINT_URL": self._site.cloud_url,
            "AWS_EC2_METADATA_SERVICE_ENDPOINT": self.metadata_url,
            "DEPLOYER_AGENT_ROOT": str(self.root),
            "DEPLOYER_AGENT_BIND": self.launch.address,
        }

    @property
    def _host_name(self) -> str:
        return self.launch.metadata.get("local-hostname", self.launch.instance_id)
