"""A machine's own disk: what is written over the image before its first boot."""

from __future__ import annotations

import hashlib
import importlib.util
from dataclasses import dataclass
from pathlib import Path

from deployer.rehearsal.engine.locate import EngineCommand, wrapper_script
from deployer.rehearsal.machines.base import MachineLaunch
from deployer.rehearsal.machines.booted.image import HYPERVISOR_ID

#: Where this package and the llama.cpp wheel are seen on a machine.
LIBRARY = "/opt/rehearsal"
#: llama.cpp's wheel is of the stable ABI and brings its libraries, so the machine's own Python can load it.
_WHEEL = "xllamacpp"
_ENGINE = EngineCommand(("/usr/bin/python3", "-P", "-m", "deployer.rehearsal.engine.command"), real=False)
_ENGINE_THREADS = 1
_BIG = 0o755


@dataclass(frozen=True)
class Disk:
    """folder: holds upper and work of the overlay, and root, where it is mounted."""

    folder: Path

    @property
    def root(self) -> Path:
        """Where the machine's systemd finds its files; empty for everybody outside its own mount namespace."""
        return self.folder / "root"

    def prepare(self, launch: MachineLaunch, *, endpoint_url: str, nameserver: str) -> None:
        """Make it. endpoint_url: of the embedded AWS, which the machine's image is configured for.

        nameserver: one that refuses at once; a dead one would cost every look-up 15 s.
        """
        for name in ("upper", "work", "root"):
            (self.folder / name).mkdir(parents=True)
            (self.folder / name).chmod(_BIG)
        settings = f'[Manager]\nDefaultEnvironment="AWS_ENDPOINT_URL={endpoint_url}"\n'
        self._write("etc/systemd/system.conf.d/50-endpoint.conf", settings)
        self._write("etc/resolv.conf", f"nameserver {nameserver}\noptions timeout:1 attempts:1\n")
        self._write(HYPERVISOR_ID, _hypervisor_id(launch.instance_id) + "\n")
        marks = {"PYTHONPATH": LIBRARY}
        self._write("usr/local/bin/llama-server", wrapper_script(_ENGINE, threads=_ENGINE_THREADS, marks=marks), 0o755)

    def _write(self, name: str, text: str, mode: int = 0o644) -> None:
        path = self.folder / "upper" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        path.chmod(mode)


def shared_folders() -> dict[str, str]:
    """Folders of the host that every machine sees read-only: theirs -> where on the machine. For the engine only."""
    found = {}
    for name in ("deployer", _WHEEL):
        spec = importlib.util.find_spec(name)
        if spec is not None and spec.submodule_search_locations:
            folder = Path(spec.submodule_search_locations[0])
            # With what says which version of it is installed.
            for path in (folder, *folder.parent.glob(f"{name}-*.dist-info")):
                found[str(path)] = f"{LIBRARY}/{path.name}"
    return found


def _hypervisor_id(instance_id: str) -> str:
    digest = hashlib.sha256(instance_id.encode()).hexdigest()
    return f"ec2{digest[:5]}-{digest[5:9]}-{digest[9:13]}-{digest[13:17]}-{digest[17:29]}"
