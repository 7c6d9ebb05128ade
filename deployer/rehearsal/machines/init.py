"""The service manager of one machine: what `systemctl` does there, with the units found below its root."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from pathlib import Path

from deployer.clock import Clock
from deployer.rehearsal.machines.alarm import Alarm
from deployer.rehearsal.machines.service import Service, Surroundings
from deployer.rehearsal.machines.timers import Timer, parse_timer
from deployer.rehearsal.machines.unit_syntax import UnitError
from deployer.rehearsal.machines.units import Unit, parse_unit

_UNIT_FOLDERS = ("etc/systemd/system", "usr/local/lib/systemd/system", "usr/lib/systemd/system")
_WANTS = "etc/systemd/system/{target}.wants/{unit}"
_POWER = {"poweroff": "off", "halt": "off", "reboot": "again"}
Answer = tuple[int, str]


class Init:
    """surround: what a unit gets from its machine. power: called with `off` or `again`, must return at once."""

    def __init__(
        self, root: Path, surround: Callable[[Unit], Surroundings], power: Callable[[str], None], clock: Clock
    ) -> None:
        self._root = root
        self._surround = surround
        self._power = power
        self._clock = clock
        self._services: dict[str, Service] = {}
        self._timers: dict[str, Alarm] = {}
        self._lock = threading.Lock()

    def systemctl(self, arguments: Sequence[str]) -> Answer:
        """Exit status and what would be printed. Knows the verbs that provisioning uses, refuses the rest."""
        words = [word for word in arguments if not word.startswith("-")]
        verb, names = (words[0], [_full(name) for name in words[1:]]) if words else ("", [])
        if verb == "daemon-reload":
            return 0, ""
        if verb in _POWER:
            self._power(_POWER[verb])
            return 0, ""
        try:
            return self._for_units(verb, names, now="--now" in arguments, wait="--no-block" not in arguments)
        except UnitError as error:
            return 1, str(error)

    def service(self, name: str) -> Service | None:
        """The service of that unit name, when it was started once."""
        return self._services.get(_full(name))

    def start_enabled(self) -> None:
        """Start what is enabled, as at the end of a boot."""
        for link in sorted(self._root.glob(_WANTS.format(target="*", unit="*"))):
            self.systemctl(["start", "--no-block", link.name])

    def stop_all(self) -> None:
        """Stop everything, all at the same time."""
        with self._lock:
            names = [*self._services, *self._timers]
        threads = [threading.Thread(target=self._stop, args=(name,), daemon=True) for name in names]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def _for_units(self, verb: str, names: list[str], *, now: bool, wait: bool) -> Answer:
        match verb, names:
            case "enable", [_, *_]:
                for name in names:
                    self._enable(name)
                return self._start_all(names, wait) if now else (0, "")
            case "disable", [_, *_]:
                for name in names:
                    for link in self._links(name):
                        link.unlink()
                    if now:
                        self._stop(name)
                return 0, ""
            case "start", [_, *_]:
                return self._start_all(names, wait)
            case "stop", [_, *_]:
                for name in names:
                    self._stop(name)
                return 0, ""
            case "restart", [_, *_]:
                for name in names:
                    self._stop(name)
                return self._start_all(names, wait)
            case "is-active", [_, *_]:
                states = [self._state(name) for name in names]
                return (0 if "active" in states else 3), "\n".join(states)
            case "is-enabled", [_, *_]:
                enabled = [bool(self._links(name)) for name in names]
                return (0 if all(enabled) else 1), "\n".join("enabled" if yes else "disabled" for yes in enabled)
            case _:
                return 1, f"systemctl {verb}: not available on a process machine"

    def _links(self, name: str) -> list[Path]:
        return list(self._root.glob(_WANTS.format(target="*", unit=name)))

    def _enable(self, name: str) -> None:
        for target in self._load(name).wanted_by:
            link = self._root / _WANTS.format(target=target, unit=name)
            link.parent.mkdir(parents=True, exist_ok=True)
            if not link.is_symlink():
                link.symlink_to(f"../{name}")

    def _start_all(self, names: list[str], wait: bool) -> Answer:
        failed = []
        for name in names:
            unit = self._load(name)
            if not wait:
                threading.Thread(target=self._start, args=(unit,), daemon=True).start()
            elif not self._start(unit):
                failed.append(name)
        return (1, f"Job for {', '.join(failed)} failed.") if failed else (0, "")

    def _start(self, unit: Unit | Timer) -> bool:
        if isinstance(unit, Timer):
            return self._start_timer(unit)
        with self._lock:
            service = self._services.get(unit.name)
            if service is None or not service.runs:
                service = self._services[unit.name] = Service(unit, self._surround(unit))
        return service.start()

    def _start_timer(self, timer: Timer) -> bool:
        with self._lock:
            if timer.name in self._timers:
                # It counts already.
                return True
            alarm = self._timers[timer.name] = Alarm(self._clock)
        due = timer.due(self._clock.now())
        if due is not None:
            alarm.set(due, lambda: self._ring(timer))
        return True

    def _ring(self, timer: Timer) -> None:
        with self._lock:
            self._timers.pop(timer.name, None)
        self.systemctl(["start", timer.unit])

    def _stop(self, name: str) -> None:
        with self._lock:
            service, alarm = self._services.get(name), self._timers.pop(name, None)
        if service is not None:
            service.stop()
        if alarm is not None:
            alarm.cancel()

    def _state(self, name: str) -> str:
        if name in self._timers:
            return "active"
        return self._services[name].state if name in self._services else "inactive"

    def _load(self, name: str) -> Unit | Timer:
        for folder in _UNIT_FOLDERS:
            path = self._root / folder / name
            if path.is_file():
                text = path.read_text(encoding="utf-8")
                return parse_timer(name, text) if name.endswith(".timer") else parse_unit(name, text)
        raise UnitError(f"Unit {name} not found.")


def _full(name: str) -> str:
    return name if "." in name else f"{name}.service"
