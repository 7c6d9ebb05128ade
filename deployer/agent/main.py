"""The whole course of one run: boot; driver, runtime, image beside the weights; tuning; engine, ready, watching it."""

from __future__ import annotations

import contextlib
import json
import os
import queue
import sys
import threading
import time
from typing import Callable, TypeVar

from . import gpu, idle, phases, weights
from .config import Config
from .console import Console, Phase
from .engine import EngineProcess
from .interruption import Interruption
from .protocol import AgentFailure
from .readiness import Engine
from .stop import Stop, Stopped
from .supervisor import supervise
from .tuner import Tuner

_POLL_SECONDS = 0.1
#: How long the work may take to put its things down after a stop; whatever it was, a later run can go on from it.
_PUT_DOWN_SECONDS = 2.0

#: How long after its announced end an instance that AWS takes back is waited for.
_OVERTIME_SECONDS = 600.0

_T = TypeVar("_T")


def main() -> int:
    """0: stopped by a signal. 1: a phase failed, and the console says which and why. 2: wrong command line."""
    if len(sys.argv) != 3 or sys.argv[1] != "--config":
        sys.stderr.write("usage: python3 -m deployer_agent --config FILE\n")
        return 2
    root, path = os.environ.get("DEPLOYER_AGENT_ROOT", ""), sys.argv[2]
    stop = Stop()
    stop.on_signals()
    try:
        with open(path if path.startswith(root) else root + path, encoding="utf-8") as stream:
            config = Config(json.load(stream), os.environ)
    except Exception as error:  # noqa: BLE001 - whatever it is, the console must say it
        text = "%s: %s: %s" % (path, type(error).__name__, error)
        Console(root + "/dev/console").fail(AgentFailure("boot", "agent_error", text))
        return 1
    return Agent(config, stop).run()


class Agent:
    """One run. The work is done in a thread of its own, so that no blocking call delays the answer to a signal."""

    def __init__(self, config: Config, stop: Stop) -> None:
        self._config = config
        self._console = Console(config.console)
        self._stop = stop
        self._process = EngineProcess(config)
        self._interruption = Interruption(config, self._console, self._process, stop)
        self._key = ""

    def run(self) -> int:
        """Work until it fails or is stopped; the exit code."""
        work = threading.Thread(target=self._work, daemon=True)
        work.start()
        while work.is_alive() and not self._stop.wait(_POLL_SECONDS):
            pass
        taken_at = self._interruption.ends_at
        if taken_at is not None:
            # Started again, it would serve again.
            self._stop.wait(taken_at + _OVERTIME_SECONDS - time.time())
        self._process.close()
        work.join(_PUT_DOWN_SECONDS)
        return 1 if taken_at is None and not self._stop.asked else 0

    def _work(self) -> None:
        try:
            self._course()
        except Stopped:
            pass
        except AgentFailure:
            # Its phase has said it.
            pass
        except Exception as error:  # noqa: BLE001 - the console must say it
            self._console.fail(AgentFailure("engine", "agent_error", "%s: %s" % (type(error).__name__, error)))

    def _run(self, name: str, task: Callable[[Config, Phase, Stop], _T]) -> _T:
        with Phase(self._console, name) as phase:
            return task(self._config, phase, self._stop)

    def _course(self) -> None:
        config, stop, process = self._config, self._stop, self._process
        # Held by its open file for as long as this process lives.
        _lock = self._run("boot", phases.boot)
        if config.spot_poll_s:
            self._beside(self._interruption.watch)
        # The download takes longest and needs nothing of the others.
        self._together(self._prepare, lambda: self._run("weights", weights.obtain))
        engine = Engine(config, self._key, process, stop)
        tuner = Tuner(config, self._console, self._key, process, stop)
        tuner.begin()
        with Phase(self._console, "engine") as phase:
            phase.result(pid=process.start())
            engine.wait_loaded(phase)
        with Phase(self._console, "ready") as phase:
            phase.result(detail=engine.wait_ready(phase))
        if config.idle_s:
            self._beside(lambda: idle.watch(config, self._console, engine, stop))
        try:
            supervise(self._console, process, engine, tuner, stop, 2 * config.retry_s)
        except AgentFailure as failure:
            self._console.fail(failure)
            raise

    def _prepare(self) -> None:
        """What runs the engine."""
        self._run("driver", gpu.driver)
        self._process.command, self._key = self._run("runtime", phases.runtime)
        self._run("image", phases.image)

    def _beside(self, task: Callable[[], None]) -> None:
        """Run something for as long as the agent works."""

        def guarded() -> None:
            with contextlib.suppress(Stopped):
                task()

        threading.Thread(target=guarded, daemon=True).start()

    def _together(self, *tasks: Callable[[], object]) -> None:
        """Run phases at the same time; the first failure ends the waiting."""
        results: queue.SimpleQueue[BaseException | None] = queue.SimpleQueue()

        def one(task: Callable[[], object]) -> None:
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
