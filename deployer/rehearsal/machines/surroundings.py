"""What a program on a process machine finds around it: environment, PATH, Python, the engine's command."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from deployer.rehearsal.engine.locate import EngineCommand, wrapper_script
from deployer.rehearsal.machines.commands import NAMES, Commands
from deployer.rehearsal.machines.processes import SCOPE
from deployer.rehearsal.machines.service import Surroundings
from deployer.rehearsal.machines.units import Unit, expand

_SYSTEM_PATH = "/usr/local/bin:/usr/bin:/bin"


@dataclass(frozen=True)
class Inside:
    """folder: the machine's, with `root` in it. environment_of_all: what every program gets. say: on the console."""

    folder: Path
    address: str
    environment_of_all: Mapping[str, str]
    engine: EngineCommand
    engine_threads: int
    commands: Commands
    say: Callable[[str], None]

    @property
    def root(self) -> Path:
        """The machine's file system."""
        return self.folder / "root"

    def environment(self, name: str) -> dict[str, str]:
        """Of a unit or a login called `name`; what is started in it is marked with that name (see processes)."""
        direct = f"{self.address},127.0.0.1,localhost"
        return {
            "LANG": "C.UTF-8",
            "HOME": str(self.root / "root"),
            "TMPDIR": str(self.root / "tmp"),
            **self.environment_of_all,
            "PATH": f"{self._programs(name)}:{_SYSTEM_PATH}",
            "no_proxy": direct,
            "NO_PROXY": direct,
            SCOPE: self._scope(name),
        }

    def of_unit(self, unit: Unit) -> Surroundings:
        """How a unit's command is to be run."""
        environment = {**self.environment(unit.name), **unit.environment}
        # The machine's own programs stay first, whatever the unit says.
        environment["PATH"] = f"{self._programs(unit.name)}:{unit.environment.get('PATH', _SYSTEM_PATH)}"
        if "PYTHONPATH" in unit.environment:
            parts = unit.environment["PYTHONPATH"].split(":")
            environment["PYTHONPATH"] = ":".join(str(self.root / part.lstrip("/")) for part in parts if part)
        programs = self._programs(unit.name)
        return Surroundings(
            argv=self._argv(expand(unit.command, environment), programs),
            stop_post=self._argv(expand(unit.stop_post, environment), programs) if unit.stop_post else (),
            environment=environment,
            folder=self.root,
            log=self.root / ("dev/console" if unit.console else f"var/log/units/{unit.name}.log"),
            scope=self._scope(unit.name),
            say=self.say,
        )

    def _argv(self, words: list[str], programs: Path) -> list[str]:
        program = words[0]
        name = program.rpartition("/")[2]
        if name in NAMES:
            return [str(programs / name), *words[1:]]
        if name.startswith("python3"):
            # This Python, without its site-packages: on the box there is only the standard library.
            return [sys.executable, "-S", "-P", *words[1:]]
        own = self.root / program.lstrip("/")
        return [str(own) if own.is_file() else program, *words[1:]]

    def _programs(self, name: str) -> Path:
        """A bin folder for one scope. Its llama-server sets the mark anew, since the agent cleans the environment."""
        folder = self.folder / "bin" / name
        if not folder.is_dir():
            folder.mkdir(parents=True)
            script = folder / "llama-server"
            marks = {SCOPE: self._scope(name)}
            script.write_text(wrapper_script(self.engine, threads=self.engine_threads, marks=marks), encoding="utf-8")
            script.chmod(0o755)
        self.commands.install(folder)
        return folder

    def _scope(self, name: str) -> str:
        return str(self.folder / name)
