"""Runs `deployer-llama-server` as a child process, as a machine does, and asks it things."""

from __future__ import annotations

import http.client
import json
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.support.waiting import until

COMMAND = (sys.executable, "-I", "-m", "deployer.rehearsal.engine.command")


def free_port() -> int:
    """A port that was free a moment ago."""
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return probe.getsockname()[1]


def run_engine(*arguments: object, env: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    """Run it to its end."""
    words = [*COMMAND, *(str(word) for word in arguments)]
    return subprocess.run(words, capture_output=True, text=True, timeout=30, env=_env(env), check=False)


class RunningEngine:
    """One server; arguments without --port and -t."""

    def __init__(self, log: Path, arguments: list[str], *, key: str | None = None, env: dict[str, str] | None = None):
        self.port = free_port()
        self.key = key
        self._log = log
        with log.open("wb") as output:
            words = [*COMMAND, *arguments, "--port", str(self.port), "-t", "1"]
            self.process = subprocess.Popen(words, stdout=output, stderr=output, env=_env(env))

    @property
    def log(self) -> str:
        """What it has printed."""
        return self._log.read_text(errors="replace")

    def ready(self) -> RunningEngine:
        """Wait for /health 200."""
        until(self._healthy, "the engine's /health", seconds=20)
        return self

    def get(self, path: str, key: str | None = None) -> tuple[int, Any]:
        """Status and body of a GET."""
        return self._ask("GET", path, None, key or self.key)

    def chat(self, tokens: int = 80, **more: Any) -> dict[str, Any]:
        """A chat completion's whole answer."""
        body = {"messages": [{"role": "user", "content": "Say hello."}], "max_tokens": tokens, **more}
        status, answer = self._ask("POST", "/v1/chat/completions", json.dumps(body), self.key)
        assert status == 200, answer
        return answer

    def handles_signals(self) -> None:
        """Wait until SIGTERM is caught, which is a moment after /health is 200; as long as it loads it is not."""
        status = Path(f"/proc/{self.process.pid}/status")
        bit = 1 << (signal.SIGTERM - 1)
        until(lambda: int(status.read_text().partition("SigCgt:")[2].split()[0], 16) & bit, "SIGTERM being caught")

    def stop(self) -> int:
        """SIGTERM; the exit status."""
        self.handles_signals()
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(10)

    def kill(self) -> None:
        """End it for certain."""
        self.process.kill()
        self.process.wait()

    def _healthy(self) -> bool:
        assert self.process.poll() is None, self.log
        try:
            return self.get("/health")[0] == 200
        except OSError:
            return False

    def _ask(self, method: str, path: str, body: str | None, key: str | None) -> tuple[int, Any]:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)
        try:
            connection.request(method, path, body, {"Authorization": f"Bearer {key}"} if key else {})
            answer = connection.getresponse()
            text = answer.read().decode()
        finally:
            connection.close()
        return answer.status, json.loads(text) if text.startswith(("{", "[")) else text


def _env(more: dict[str, str] | None) -> dict[str, str]:
    return {"PATH": os.environ["PATH"], **(more or {})}
