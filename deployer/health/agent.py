"""Rung 2: the agent's phases, read from the instance's console."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from deployer.access.host_keys import from_console
from deployer.agent.protocol import FAILURE_HINTS, NOTICES
from deployer.engine.tuned import TuneReport, parse_report
from deployer.errors import AwsError, BootstrapError, NotHealthyError
from deployer.events import Emit, Event, Json
from deployer.health.base import Observation
from deployer.health.console import AgentLine, ConsoleReader
from deployer.health.notices import taken_back
from deployer.health.unreadable import unreadable

#: Boot, driver, image pull, the hub's listing and the first completion, with room. Seconds.
BASE_SECONDS = 900.0
#: Bytes a second that a download is expected to reach at least: ModelScope inside China gives more than 20 MB/s;
#: a download that is seen to be slower gets the time it needs.
DOWNLOAD_FLOOR = 20e6
#: Bytes a second for reading the weights from the volume: gp3's baseline is 125 MiB/s.
LOAD_FLOOR = 100e6
#: What a tuning may take: agent.tuner.BUDGET_SECONDS, and the candidate that was begun last.
TUNING_SECONDS = 3600.0


@dataclass(frozen=True)
class AgentFacts:
    """What the agent told so far. host_keys: `type base64`. ready: the `detail` of its `ready done` line.

    certificate: PEM of the endpoint, None without TLS. tuning: the last report since the agent began to be read.
    """

    host_keys: tuple[str, ...] = ()
    ready: Mapping[str, Json] = field(default_factory=dict)
    certificate: str | None = None
    tuning: TuneReport | None = None


class AgentPhases:
    """console: the newest text of the serial console, whole or only its tail. weights_bytes: what must be downloaded.

    Emits a `phase` event for every new line. Only the last boot counts for passing. A failure raises BootstrapError,
    except one that was already history when this rung first looked and was followed by another boot.
    """

    name = "agent"
    decides = True
    recheck_seconds = 10.0

    def __init__(self, console: Callable[[], str], emit: Emit, *, weights_bytes: int = 0) -> None:
        self._console = console
        self._emit = emit
        self._weights_bytes = weights_bytes
        self._reader = ConsoleReader()
        self._active: dict[str, AgentLine] = {}
        self._download_started: float | None = None
        self._download_seconds = weights_bytes / DOWNLOAD_FLOOR
        self._looked = False
        self._ready = False
        self._tuned = False
        self._failure: AgentLine | None = None
        self._taken: str | None = None
        self.facts = AgentFacts()

    @property
    def deadline_seconds(self) -> float:
        """Base, plus the download at the expected or the slower measured rate, plus reading the weights."""
        tuning = TUNING_SECONDS if self._tuned else 0.0
        return BASE_SECONDS + self._download_seconds + self._weights_bytes / LOAD_FLOOR + tuning

    @property
    def tuning(self) -> bool:
        """Is the machine measuring itself?"""
        return "tuning" in self._active

    def check(self) -> Observation:
        try:
            text = self._console()
        except AwsError as error:
            return unreadable("the console", error)
        if keys := from_console(text):
            self.facts = replace(self.facts, host_keys=tuple(keys))
        for line in self._reader.read(text):
            self._emit(_event(line))
            self._take(line)
        self._looked = True
        if self._taken is not None:
            hint = "`deployer up` launches another one"
            return Observation("failed", self._taken, NotHealthyError(self._taken, where="instance", hint=hint))
        if self._failure is not None:
            return _failed(self._failure)
        if self._ready:
            return Observation("passed", "the agent reports ready")
        return Observation("waiting", self._progress())

    def _take(self, line: AgentLine) -> None:
        self._taken = taken_back(line) or self._taken
        if line.certificate:
            self.facts = replace(self.facts, certificate=line.certificate)
        match line.phase, line.state:
            case _, "failed":
                self._failure = line
            case "boot", "start":
                self._active.clear()
                self._ready = False
                if not self._looked:
                    self._failure = None
            case "ready", "done":
                self._ready = True
                self.facts = replace(self.facts, ready=line.detail)
            case "engine", "restarting":
                self._ready = False
            case "tuning", "start":
                self._ready, self._tuned = False, True
            case "tuning", "done" | "skipped":
                self.facts = replace(self.facts, tuning=parse_report(line.detail))
            case "weights", "start":
                self._download_started = line.ts
            case "weights", "progress":
                self._measure(line)
        if line.state in ("done", "skipped") or line.phase in NOTICES:
            self._active.pop(line.phase, None)
        else:
            self._active[line.phase] = line

    def _measure(self, line: AgentLine) -> None:
        """How long the whole download takes at the rate seen so far."""
        if not (line.ts and self._download_started and line.bytes and line.total_bytes):
            return
        whole = (line.ts - self._download_started) * line.total_bytes / line.bytes
        self._download_seconds = max(self._weights_bytes / DOWNLOAD_FLOOR, whole)

    def _progress(self) -> str:
        if not self._active:
            return "the console shows nothing of the agent yet"
        return ", ".join(_describe(line) for line in self._active.values())


def _describe(line: AgentLine) -> str:
    parts = [line.phase, "restarting" if line.state == "restarting" else ""]
    if line.percent is not None:
        parts.append(f"{line.percent:.0f} %")
    if line.bytes is not None and line.total_bytes:
        parts.append(f"({line.bytes / 1e9:.2f} of {line.total_bytes / 1e9:.2f} GB)")
    parts.append(line.message or "")
    return " ".join(part for part in parts if part)


def _event(line: AgentLine) -> Event:
    fields: dict[str, Json] = {
        "phase": line.phase,
        "state": line.state,
        "percent": line.percent,
        "bytes": line.bytes,
        "total_bytes": line.total_bytes,
        "seconds": line.seconds,
        "code": line.code,
        "message": line.message,
        "log": list(line.log) or None,
    }
    return Event("phase", {name: value for name, value in fields.items() if value is not None})


def _failed(line: AgentLine) -> Observation:
    code = line.code or "engine_exit"
    message = f"{line.phase} failed ({code}): {line.message or 'no reason given'}"
    hint = line.hint or FAILURE_HINTS.get(code)
    error = BootstrapError(message, failure_code=code, log=line.log, where=f"phase {line.phase}", hint=hint)
    return Observation("failed", message, error)
