"""What a local stack keeps on disk: one folder below settings.home/stacks, gone after `down`."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from deployer.access.secrets import new_api_key
from deployer.decide.types import BoxPaths
from deployer.errors import RefusedError
from deployer.events import Json
from deployer.settings import Settings

_NAME = re.compile(r"[a-z]([a-z0-9-]{0,30}[a-z0-9])?")


@dataclass(frozen=True)
class LocalRecord:
    """What `up` wrote down. pid and start name the agent's process (see agent.processes.start_mark).

    config_digest: of agent.json. tuned: a MeasuredChoice.
    created_at: seconds since the epoch.
    """

    stack: str
    spec_digest: str
    config_digest: str
    generation: int
    created_at: float
    port: int
    url: str
    alias: str
    pid: int | None = None
    start: str | None = None
    tuned: dict[str, Any] | None = None


@dataclass(frozen=True)
class StackFolder:
    """The files of one local stack."""

    path: Path

    @property
    def name(self) -> str:
        """The stack's name."""
        return self.path.name

    @property
    def record_file(self) -> Path:
        """LocalRecord as JSON."""
        return self.path / "record.json"

    @property
    def config_file(self) -> Path:
        """The agent's configuration."""
        return self.path / "agent.json"

    @property
    def agent_log(self) -> Path:
        """Standard output and error of the agent."""
        return self.path / "agent.log"

    @property
    def console(self) -> Path:
        """The agent's phases, a regular file here."""
        return self.path / "console"

    @property
    def engine_log(self) -> Path:
        """llama-server's own log."""
        return self.path / "engine.log"

    @property
    def engine_pid(self) -> Path:
        """The engine's process, written by the agent."""
        return self.path / "state" / "engine.json"

    @property
    def api_key_file(self) -> Path:
        """The API key, 0600."""
        return self.path / "api-key"

    def box_paths(self) -> BoxPaths:
        """Where the engine and the agent find their things, for decide."""
        return BoxPaths(
            weights_dir=str(self.path / "weights"),
            state_dir=str(self.path / "state"),
            api_key_file=str(self.api_key_file),
            engine_log=str(self.engine_log),
            console=str(self.console),
        )

    def record(self) -> LocalRecord | None:
        """The record, None when it is missing or cannot be read."""
        try:
            return LocalRecord(**json.loads(self.record_file.read_text()))
        except (OSError, ValueError, TypeError):
            return None

    def write_record(self, record: LocalRecord) -> None:
        """Replace the record in one step."""
        _write(self.record_file, json.dumps(asdict(record), indent=2) + "\n")

    def write_config(self, config: Mapping[str, object]) -> None:
        """Replace agent.json in one step."""
        _write(self.config_file, json.dumps(config, indent=2) + "\n")

    def ensure_api_key(self) -> str:
        """The stack's key, made on first use."""
        if not self.api_key_file.exists():
            self.write_api_key(new_api_key())
        return self.api_key_file.read_text().strip()

    def write_api_key(self, key: str) -> None:
        """Replace the key in one step."""
        _write(self.api_key_file, key + "\n")

    def console_text(self) -> str:
        """What the agent has said since its last start; empty before."""
        try:
            return self.console.read_text(errors="replace")
        except OSError:
            return ""

    def log_tail(self, lines: int = 20) -> list[str]:
        """The last lines of the agent's own output, for an end that no phase explains."""
        try:
            return self.agent_log.read_text(errors="replace").splitlines()[-lines:]
        except OSError:
            return []

    def files(self) -> dict[str, Json]:
        """What a person may want to read, for `status`."""
        return {
            "folder": str(self.path),
            "api_key_file": str(self.api_key_file),
            "console": str(self.console),
            "engine_log": str(self.engine_log),
        }


def stack_folder(settings: Settings, stack: str) -> StackFolder:
    """The folder of a stack, whether it exists or not."""
    return StackFolder((settings.home / "stacks" / stack).absolute())


def recorded_folder(settings: Settings, stack: str) -> StackFolder:
    """The folder of a stack that was brought up. Raises RefusedError when there is none."""
    folder = stack_folder(settings, stack)
    if folder.record() is None:
        raise RefusedError(
            f"there is no stack {stack} on this machine", where=str(folder.path), hint="deployer ls shows what is"
        )
    return folder


def stack_folders(settings: Settings) -> list[StackFolder]:
    """Every local stack there is, by name."""
    parent = settings.home / "stacks"
    if not parent.is_dir():
        return []
    return [
        StackFolder(path.absolute())
        for path in sorted(parent.iterdir())
        if path.is_dir() and _NAME.fullmatch(path.name)
    ]


def box_paths(settings: Settings, stack: str) -> BoxPaths:
    """The paths to give to decide for a local stack."""
    return stack_folder(settings, stack).box_paths()


def _write(path: Path, text: str) -> None:
    """Atomic and for the owner only: readers see the old or the new text, never half."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    scratch = path.with_name(f".{path.name}.{os.getpid()}")
    descriptor = os.open(scratch, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    scratch.replace(path)
