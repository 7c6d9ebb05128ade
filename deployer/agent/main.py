"""The whole course of one run: boot, driver, runtime, image with weights, engine, ready, then watching it."""

from __future__ import annotations

import argparse
import os
import queue
import threading
from typing import Callable, Sequence

from . import api_key, phases, weights
from .config import Config, load
from .console import Console, Phase, as_failure, say_failure
from .engine import EngineProcess
from .protocol import AgentFailure
from .readiness import Engine
from .stop import Stop, Stopped
from .supervisor import supervise

_POLL_SECONDS = 0.1
#: How long the work may take to put its things down after a stop; whatever it was, a later run can go on from it.
_PUT_DOWN_SECONDS = 2.0


def main(arguments: Sequence[str] | None = None) -> int:
    """0: stopped by a signal. 1: a phase failed, and the console says which and why."""
    parser = argparse.ArgumentParser(prog="deployer_agent")
    parser.add_argument("--config", required=True)
    path = parser.parse_args(arguments).config
    root = os.environ.get("DEPLOYER_AGENT_ROOT", "").rstrip("/")
    if root and not path.startswith(root + "/"):
        path = root + path
    stop = Stop()
    stop.on_signals()
    try:
        config = load(path, os.environ)
    except Exception as error:  # noqa: BLE001 - whatever it is, the console must say it
        failure = AgentFailure("boot", "agent_error", "%s: %s: %s" % (path, type(error).__name__, error))
        say_failure(Console(root + "/dev/console"), failure)
        return 1
    return Agent(config, stop).run()


class Agent:
    """One run. The work is done in a thread of its own, so that no blocking call delays the answer to a signal."""

    def __init__(self, config: Config, stop: Stop) -> None:
        self._config = config
        self._console = Console(config.console)
        self._stop = stop
        self._process = EngineProcess(config)
        self._code = 1

    def run(self) -> int:
        """Work until it fails or is stopped; the exit code."""
        work = threading.Thread(target=self._work, daemon=True)
        work.start()
        while work.is_alive() and not self._stop.wait(_POLL_SECONDS):
            pass
        self._process.close()
        work.join(_PUT_DOWN_SECONDS)
        return 0 if self._stop.asked else self._code

    def _work(self) -> None:
        try:
            self._course()
        except Stopped:
            self._code = 0
        except AgentFailure:
            # Its phase has said it.
            self._code = 1
        except Exception as error:  # noqa: BLE001 - the console must say it
            say_failure(self._console, as_failure("boot", error))

    def _phase(self, name: str) -> Phase:
        return Phase(self._console, name)

    def _course(self) -> None:
        config, console, stop = self._config, self._console, self._stop
        with self._phase("boot") as phase:
            lock = phases.boot(config, phase, self._process)
        with lock:
            with self._phase("driver") as phase:
                phases.driver(config, phase)
            with self._phase("runtime") as phase:
                self._process.command = phases.runtime(config, phase, stop)
                key = api_key.obtain(config, console, phase, stop)
            self._together(self._image, self._weights)
            engine = Engine(config, key, self._process, stop)
            with self._phase("engine") as phase:
                phase.result(pid=self._process.start())
                engine.wait_loaded(phase)
            with self._phase("ready") as phase:
                phase.result(detail=engine.wait_ready(phase))
            try:
                supervise(console, self._process, engine, stop)
            except AgentFailure as failure:
                say_failure(console, failure)
                raise

    def _image(self) -> None:
        with self._phase("image") as phase:
            phases.image(self._config, phase, self._stop)

    def _weights(self) -> None:
        with self._phase("weights") as phase:
            weights.obtain(self._config, phase, self._stop)

    def _together(self, *tasks: Callable[[], None]) -> None:
        """Run tasks at the same time; the first failure ends the waiting."""
        results: queue.SimpleQueue[BaseException | None] = queue.SimpleQueue()

        def one(task: Callable[[], None]) -> None:
            try:
                task()
            except BaseException as error:  # noqa: BLE001 - carried to the thread that waits
                results.put(error)
            else:
                results.put(None)

        for task in tasks:
            threading.Thread(target=one, args=(task,), daemon=True).start()
        for _ in tasks:
            error = results.get()
            if error is not None:
                raise error
