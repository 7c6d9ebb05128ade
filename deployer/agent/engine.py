"""The engine as a child process: started with a clean environment, its log kept, its end explained."""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import threading
from typing import Any, Mapping

from . import failures
from .config import Config
from .containers import NAME
from .part import remove
from .processes import end_group, remember
from .protocol import AgentFailure
from .stop import Stopped
from .text import read_tail

#: What llama-server may see of our environment. Stray LLAMA_ARG_* change its behaviour or stop its start, AWS_* are
#: none of its business.
_KEPT = ("PATH", "HOME", "USER", "LANG", "TZ", "TMPDIR")
_KEPT_PREFIXES = ("LC_", "LD_", "DYLD_", "CUDA_", "NVIDIA_", "GGML_", "OMP_", "HSA_", "HIP_", "ROCR_", "VK_", "XDG_")


def clean_environment(environ: Mapping[str, str]) -> dict[str, str]:
    """The part of an environment that an engine may see."""
    return {name: value for name, value in environ.items() if name in _KEPT or name.startswith(_KEPT_PREFIXES)}


class EngineProcess:
    """One engine at a time. The pid file lets a later agent find what a killed one left behind."""

    def __init__(self, config: Config) -> None:
        self._config = config
        #: Set once the runtime is known.
        self.command: list[str] = []
        #: What was measured to be best here and is in `command`, None for what was decided beforehand.
        self.choice: dict[str, Any] | None = None
        #: Where it listens.
        self.port = config.port
        self._argv_words = len(config.argv)
        self._process: subprocess.Popen[bytes] | None = None
        self._log_from = 0
        # Another thread may close while this one is about to start again.
        self._lock = threading.Lock()
        self._closed = False

    def choose(self, argv: list[str], port: int, choice: dict[str, Any] | None = None) -> None:
        """Other arguments for the next start. port: the one in them. choice: what was measured, if they come of it."""
        self.port = port
        prefix = len(self.command) - self._argv_words
        self.command = [*self.command[:prefix], *argv]
        self._argv_words = len(argv)
        self.choice = choice

    def start(self) -> int:
        """Start it; the pid. Raises AgentFailure port_taken, runtime_missing; Stopped after `close`."""
        with self._lock:
            if self._closed:
                raise Stopped
            return self._start()

    def _start(self) -> int:
        config = self._config
        need_port(config.host, self.port)
        os.makedirs(os.path.dirname(config.engine_log), exist_ok=True)
        log = os.open(config.engine_log, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o640)
        try:
            self._log_from = os.fstat(log).st_size
            self._process = subprocess.Popen(
                self.command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env=clean_environment(os.environ),
                cwd="/",
                start_new_session=True,
            )
        except OSError as error:
            raise AgentFailure("engine", "runtime_missing", "%s cannot be run: %s" % (self.command[0], error)) from None
        finally:
            os.close(log)
        remember(self._config.pid_file, self._process.pid)
        return self._process.pid

    @property
    def log(self) -> list[str]:
        """Raw last lines of the log since this start."""
        return read_tail(self._config.engine_log, self._log_from)

    def exit_code(self) -> int | None:
        """None while it runs; after a signal 128 + its number."""
        code = self._process.poll() if self._process else 0
        return 128 - code if code is not None and code < 0 else code

    def need_alive(self) -> None:
        """Raises AgentFailure that explains its end, when it ended by itself; Stopped after `close`."""
        code = self.exit_code()
        if self._closed:
            raise Stopped
        if code is not None:
            raise failures.explain(code, self.log, "draft-mtp" in self.command or self._config.mtp)

    def stop(self) -> None:
        """End it in the way that llama-server needs."""
        process = self._process
        if process is None:
            return
        end_group(process.pid, lambda: process.poll() is not None)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(5)
        if self._config.docker:
            # A client that had to be killed leaves its container behind.
            subprocess.run(["docker", "rm", "--force", NAME], capture_output=True, check=False)
        remove(self._config.pid_file)

    def close(self) -> None:
        """Stop, and never start again."""
        with self._lock:
            self._closed = True
        self.stop()


def need_port(host: str, port: int) -> int:
    """Another program on our port would answer in the engine's place. port 0: any free one. The port."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
            return int(probe.getsockname()[1])
        except OSError as error:
            raise AgentFailure("engine", "port_taken", "%s:%d: %s" % (host, port, error)) from None
