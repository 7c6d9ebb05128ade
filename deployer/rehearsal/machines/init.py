"""The service manager of one machine: what `systemctl` does there, with the units found below its root."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from pathlib import Path

from deployer.clock import Clock
from deployer.rehearsal.machines.service import Service, Surroundings
from deployer.rehearsal.machines.units import Unit, UnitError, parse_unit

_UNIT_FOLDERS = ("etc/systemd/system", "usr/local/lib/systemd/system", "usr/lib/systemd/system")
_WANTS = "etc/systemd/system/{target}.wants"
_POWER = {"poweroff": "off", "halt": "off", "reboot": "again"}
Answer = tuple[int, str]


class Init:
    """surround: what a unit gets from its machine. power: called with `off` or `again`."""

    def __init__(
        self, root: Path, surround: Callable[[Unit], Surroundings], power: Callable[[str], None], clock: Clock
    ) -> None:
        self._root = root
        self._surround = surround
        self._power = power
        self._clock = clock
        self._services: dict[str, Service] = {}
        self._lock = threading.RLock()

    def systemctl(self, arguments: Sequence[str]) -> Answer:
        """Exit status and what would be printed. Knows the verbs that provisioning uses, refuses the rest."""
        words = [word for word in arguments if not word.startswith("-")]
        verb, names = (words[0], [_full(name) for name in words[1:]]) if words else ("", [])
        now = "--now" in arguments
        if verb == "daemon-reload":
            return 0, ""
        if verb in _POWER:
            self._power(_POWER[verb])
            return 0, ""
        if not names:
            return 1, f"systemctl {verb}: not available on a process machine"
        try:
            with self._lock:
                return self._for_units(verb, names, now)
        except UnitError as error:
            return 1, str(error)

    def service(self, name: str) -> Service | None:
        """The service of that unit name, when it was started once."""
        return self._services.get(_full(name))

    def start_enabled(self) -> None:
        """Start what is enabled, as at the end of a boot."""
        for link in sorted(self._root.glob(_WANTS.format(target="*") + "/*.service")):
            self.systemctl(["start", link.name])

    def stop_all(self) -> None:
        """Stop every service, all at the same time."""
        with self._lock:
            services = list(self._services.values())
        threads = [threading.Thread(target=service.stop, daemon=True) for service in services]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def _for_units(self, verb: str, names: list[str], now: bool) -> Answer:
        match verb:
            case "enable":
                for name in names:
                    self._enable(name)
                return self._start(names) if now else (0, "")
            case "disable":
                for name in names:
                    for link in self._root.glob(_WANTS.format(target="*") + f"/{name}"):
                        link.unlink()
                return self._stop(names) if now else (0, "")
            case "start":
                return self._start(names)
            case "stop":
                return self._stop(names)
            case "restart":
                self._stop(names)
                return self._start(names)
            case "is-active":
                states = [self._state(name) for name in names]
                return (0 if "active" in states else 3), "\n".join(states)
            case "is-enabled":
                enabled = [any(self._root.glob(_WANTS.format(target="*") + f"/{name}")) for name in names]
                return (0 if all(enabled) else 1), "\n".join("enabled" if yes else "disabled" for yes in enabled)
            case _:
                return 1, f"systemctl {verb}: not available on a process machine"

    def _enable(self, name: str) -> None:
        unit = self._load(name)
        for target in unit.wanted_by:
            folder = self._root / _WANTS.format(target=target)
            folder.mkdir(parents=True, exist_ok=True)
            link = folder / name
            if not link.is_symlink():
                link.symlink_to(f"../{name}")

    def _start(self, names: list[str]) -> Answer:
        failed = []
        for name in names:
            running = self._services.get(name)
            if running is None or running.state not in ("active", "activating"):
                unit = self._load(name)
                running = self._services[name] = Service(unit, self._surround(unit), self._clock)
            if not running.start():
                failed.append(name)
        return (1, f"Job for {', '.join(failed)} failed.") if failed else (0, "")

    def _stop(self, names: list[str]) -> Answer:
        for name in names:
            if name in self._services:
                self._services[name].stop()
        return 0, ""

    def _state(self, name: str) -> str:
        return self._services[name].state if name in self._services else "inactive"

    def _load(self, name: str) -> Unit:
        for folder in _UNIT_FOLDERS:
            path = self._root / folder / name
            if path.is_file():
                return parse_unit(name, path.read_text(encoding="utf-8"))
        raise UnitError(f"Unit {name} not found.")


def _full(name: str) -> str:
    return name if "." in name else f"{name}.service"
