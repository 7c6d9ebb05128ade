"""An instance's file system in a temporary folder, on which the agent runs exactly as it is sent."""

from __future__ import annotations

import contextlib
import json
import os
import resource
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from deployer.agent.protocol import decode_line

KEY = 'key-"0123456789abcdef'
CONFIG = "/etc/deployer/agent.json"


def wait_until(true: Callable[[], Any], seconds: float = 20.0) -> Any:
    """The first truthy answer; fails after `seconds`."""
    deadline, tick = time.monotonic() + seconds, threading.Event()
    while not (answer := true()):
        assert time.monotonic() < deadline, "it did not happen in time"
        tick.wait(0.02)
    return answer


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@dataclass
class Box:
    """config: agent.json's document, to be changed before `start`. file_limit: no file may grow beyond (bytes)."""

    root: Path
    library: Path
    port: int = field(default_factory=free_port)
    config: dict[str, Any] = field(default_factory=dict)
    environ: dict[str, str] = field(default_factory=dict)
    file_limit: int | None = None
    processes: list[subprocess.Popen[bytes]] = field(default_factory=list)

    def __post_init__(self) -> None:
        for folder in ("etc/deployer", "etc/ssh", "bin", "run/deployer", "dev", "models"):
            (self.root / folder).mkdir(parents=True)
        (self.root / "run/deployer/api-key").write_text(KEY + "\n")
        (self.root / "etc/ssh/ssh_host_ed25519_key.pub").write_text("ssh-ed25519 AAAAkey root@box\n")
        (self.root / "models/m.gguf").write_bytes(b"GGUF" + bytes(1000))
        self.config = {
            "v": 1,
            "stack": "t",
            "generation": 1,
            "region": "cn-northwest-1",
            "ssm_endpoint": None,
            "runtime": "process",
            "engine": {
                "command": ["llama-server"],
                "argv": [
                    *("--host", "10.9.9.9", "--port", str(self.port), "-m", "/var/lib/deployer/weights/m.gguf"),
                    *("--alias", "tiny", "--api-key-file", "/run/deployer/api-key"),
                ],
                "image": None,
                "alias": "tiny",
                "host": "10.9.9.9",
                "port": self.port,
                "build": "generic",
                "expects_gpu": False,
                "mtp": True,
            },
            "api_key": {"parameter": None, "file": "/run/deployer/api-key"},
            "weights": {
                "dir": "/var/lib/deployer/weights",
                "file": "m.gguf",
                "sha256": None,
                "size_bytes": None,
                "sources": [
                    {"kind": "file", "url": "file:///models/m.gguf", "listing_url": None, "listing_path": None}
                ],
            },
            "paths": {
                "engine_log": "/var/log/deployer/engine.log",
                "console": "/dev/console",
                "state": "/var/lib/deployer",
            },
            "deadlines": {
                "engine_load_s": 20,
                "ready_s": 20,
                "api_key_s": 2,
                "network_s": 0,
                "driver_s": 0,
                "retry_s": 0.01,
            },
        }

    @property
    def weights(self) -> Path:
        return self.root / "var/lib/deployer/weights/m.gguf"

    def sources(self, *urls: str, listing: str | None = None, kind: str = "https") -> None:
        self.config["weights"]["sources"] = [
            {"kind": kind, "url": url, "listing_url": listing, "listing_path": "m.gguf" if listing else None}
            for url in urls
        ]

    def program(self, text: str, name: str = "llama-server") -> Path:
        """Install an executable Python script on the box's PATH."""
        path = self.root / "bin" / name
        path.write_text(f"#!{sys.executable} -IS\n{text}")
        path.chmod(0o755)
        return path

    def start(self, text: str | None = None) -> subprocess.Popen[bytes]:
        """text: agent.json instead of `config`."""
        (self.root / CONFIG[1:]).write_text(json.dumps(self.config) if text is None else text)
        environ = {
            "PATH": str(self.root / "bin"),
            "PYTHONPATH": str(self.library),
            "DEPLOYER_AGENT_ROOT": str(self.root),
            "DEPLOYER_AGENT_BIND": "127.0.0.1",
            "LLAMA_ARG_PORT": "1",
            "AWS_SECRET_ACCESS_KEY": "stray",
            **self.environ,
        }
        # No site-packages: the standard library is all there is on an instance.
        command = [sys.executable, "-s", "-S", "-m", "deployer_agent", "--config", CONFIG]
        limit = self.file_limit
        process = subprocess.Popen(
            command,
            env=environ,
            cwd="/",
            preexec_fn=(lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))) if limit else None,
        )
        self.processes.append(process)
        return process

    def run(self, text: str | None = None) -> int:
        """The exit code of an agent that ends by itself."""
        return self.start(text).wait(30)

    def console(self) -> str:
        path = self.root / "dev/console"
        return path.read_text() if path.exists() else ""

    def lines(self, phase: str | None = None, state: str | None = None) -> list[dict[str, Any]]:
        found = [line for line in map(decode_line, self.console().splitlines()) if line]
        return [line for line in found if phase in (None, line["phase"]) and state in (None, line["state"])]

    def said(self, phase: str, state: str, seconds: float = 20.0) -> dict[str, Any]:
        """The first such line, waited for."""
        return dict(wait_until(lambda: self.lines(phase, state), seconds)[0])

    def failure(self) -> dict[str, Any]:
        """The one `failed` line."""
        (line,) = self.lines(state="failed")
        return line

    def engine_pid(self) -> int:
        return int(json.loads((self.root / "var/lib/deployer/engine.json").read_text())["pid"])

    def close(self) -> None:
        for process in self.processes:
            if process.poll() is None:
                process.kill()
                process.wait()
        with contextlib.suppress(OSError, ValueError):
            os.killpg(self.engine_pid(), signal.SIGKILL)
        # A killed agent also leaves the engine of the candidate it was measuring: on a machine systemd ends it.
        for words in Path("/proc").glob("[0-9]*/cmdline"):
            with contextlib.suppress(OSError):
                if str(self.root).encode() in words.read_bytes():
                    os.kill(int(words.parent.name), signal.SIGKILL)
