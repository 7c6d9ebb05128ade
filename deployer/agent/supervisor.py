"""After ready: an engine that ends is started again, with growing pauses, until it is hopeless."""

from __future__ import annotations

import time

from .console import Console, Phase
from .engine import EngineProcess
from .protocol import AgentFailure
from .readiness import Engine
from .stop import Stop
from .tuner import Tuner

MAX_CRASHES = 5
WINDOW_SECONDS = 600.0
MAX_PAUSE_SECONDS = 30.0
_POLL_SECONDS = 0.2


def supervise(
    console: Console, process: EngineProcess, engine: Engine, tuner: Tuner, stop: Stop, first_pause: float
) -> None:
    """Never returns. Tunes when somebody asks. first_pause: seconds before the second start.

    Raises Stopped, or AgentFailure when it failed MAX_CRASHES times within WINDOW_SECONDS.
    """
    crashes: list[float] = []
    while True:
        failure = _watch(process, tuner, stop) or _start_again(console, process, engine)
        while failure is not None:
            now = time.monotonic()
            crashes = [then for then in crashes if now - then < WINDOW_SECONDS] + [now]
            if len(crashes) >= MAX_CRASHES:
                text = "it failed %d times within %d s; the last time: " % (len(crashes), WINDOW_SECONDS)
                raise AgentFailure("engine", failure.code, text + failure.message, failure.log)
            console.fail(failure, "restarting")
            stop.pause(min(MAX_PAUSE_SECONDS, first_pause * 2.0 ** (len(crashes) - 1)))
            failure = _start_again(console, process, engine)


def _watch(process: EngineProcess, tuner: Tuner, stop: Stop) -> AgentFailure | None:
    """Why it ended; None after a tuning, which leaves it stopped."""
    while True:
        request = tuner.asked()
        if request is not None:
            tuner.tune(request)
            return None
        try:
            process.need_alive()
        except AgentFailure as failure:
            return failure
        stop.pause(_POLL_SECONDS)


def _start_again(console: Console, process: EngineProcess, engine: Engine) -> AgentFailure | None:
    try:
        process.stop()
        process.start()
        # Not entered: a failure here is a reason to try again, not yet a failed phase.
        engine.wait_loaded(Phase(console, "engine"))
        phase = Phase(console, "ready")
        detail = engine.wait_ready(phase)
    except AgentFailure as failure:
        return AgentFailure("engine", failure.code, failure.message, failure.log)
    console.say("ready", "done", seconds=phase.seconds, detail=detail)
    return None
