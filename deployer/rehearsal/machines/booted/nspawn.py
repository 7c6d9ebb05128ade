"""How a container is started: the command line, and the few steps before it in a mount namespace of its own."""

from __future__ import annotations

import contextlib
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from deployer.rehearsal.machines.booted.cgroups import Group, Layout
from deployer.rehearsal.machines.booted.disk import Disk
from deployer.rehearsal.machines.booted.listeners import NAMESPACES

#: Exit status of systemd-nspawn when the system in it has asked to be started again.
RESTART = 133

#: Without the lock file that would be left when it is killed: nobody else knows these folders.
_ENVIRONMENT = {
    "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
    "TERM": "vt220",
    "SYSTEMD_NSPAWN_LOCK": "0",
}

# Mounts end with the process, also when it is killed. On a mixed hierarchy the container must see a unified one only,
# which is mounted over the host's in this namespace; it is never handed in from outside.
_SCRIPT = """
for group in $5; do echo $$ > "$group/cgroup.procs"; done
cd "$1"
mount -t overlay overlay -o "lowerdir=$2,upperdir=upper,workdir=work" root
if [ "$3" = mixed ]; then
  umount -R /sys/fs/cgroup
  mount -t cgroup2 none /sys/fs/cgroup
  echo $$ > "/sys/fs/cgroup/$4/cgroup.procs"
fi
shift 5
exec systemd-nspawn "$@"
"""


#: Where systemd-nspawn makes a folder for each container, and leaves it when it is killed.
_PROPAGATE = Path("/run/systemd/nspawn/propagate")


def forget(name: str) -> None:
    """Take away what a container that is gone may have left outside its own folder."""
    with contextlib.suppress(OSError):
        (_PROPAGATE / name).rmdir()


@dataclass(frozen=True)
class Container:
    """Everything that a start needs. shared: host folder -> read-only place in it. namespace: its network."""

    name: str
    disk: Disk
    image: Path
    shared: Mapping[str, str]
    namespace: str
    layout: Layout
    group: Group
    console: Path

    def start(self) -> subprocess.Popen[bytes]:
        """Power on; the process ends when the machine is off or wants to start again."""
        mode = "unified" if self.layout.memory is None else "mixed"
        own = self.group.directories[0].relative_to(self.layout.unified)
        groups = " ".join(str(directory) for directory in self.group.directories)
        before = ["unshare", "--mount", "--propagation", "slave", "sh", "-euc", _SCRIPT, "sh"]
        before += [str(self.disk.folder), str(self.image), mode, str(own), groups]
        with self.console.open("ab") as console:
            return subprocess.Popen(
                [*before, *self._arguments()],
                stdin=subprocess.DEVNULL,
                stdout=console,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                cwd="/",
                env=_ENVIRONMENT,
            )

    def _arguments(self) -> list[str]:
        binds = [f"--bind-ro={outside}:{inside}" for outside, inside in self.shared.items()]
        return [
            "--quiet",
            f"--directory={self.disk.root}",
            f"--machine={self.name}",
            "--register=no",
            "--keep-unit",
            f"--network-namespace-path={NAMESPACES / self.namespace}",
            "--kill-signal=SIGRTMIN+3",
            "--resolv-conf=off",
            "--timezone=off",
            "--link-journal=no",
            *binds,
            "--boot",
            "systemd.unit=multi-user.target",
        ]
