"""The tuning phase: measure the candidates on this machine, keep the fastest, leave everything as it was otherwise."""

from __future__ import annotations

import os
import time
from typing import Any

from .config import Config
from .console import Console, Phase
from .engine import EngineProcess
from .measuring import Bench
from .readiness import Engine
from .stop import Stop
from .tuned import Tuned
from .tuning import (
    DRAFTS,
    MARGIN,
    MOST_DRAFTS,
    Candidate,
    Row,
    as_json,
    choice_in,
    cliff,
    following,
    judge,
    name_of,
    p_min_in,
    pick,
    thread_counts,
    with_choice,
)

#: No candidate is begun later than this after the start of a tuning, seconds.
BUDGET_SECONDS = 2400.0


class Cancelled(Exception):
    """Raised out of a tuning that somebody does not want any more."""


class _Patience(Stop):
    """A stop that also hears that the tuning is cancelled."""

    def __init__(self, stop: Stop, tuned: Tuned) -> None:
        self._stop = stop
        self._tuned = tuned

    def pause(self, seconds: float) -> None:
        self._stop.pause(seconds)
        if self._tuned.cancelled():
            raise Cancelled


class Tuner:
    """Holds what the engine runs with: as decided, or as it was measured to be best here."""

    def __init__(self, config: Config, console: Console, key: str, process: EngineProcess, stop: Stop) -> None:
        self._config = config
        self._console = console
        self._process = process
        self._tuned = Tuned(config)
        self._patience = _Patience(stop, self._tuned)
        self._engine = Engine(config, key, process, self._patience)
        self._p_min = str(config.tune.get("p_min") or p_min_in(config.argv) or "0.0")

    def begin(self) -> None:
        """Before the first start: take an earlier choice, or make one when the spec says so."""
        known, choice, why = self._tuned.recall()
        self._take(choice)
        if why:
            self._console.say("engine", "progress", "the measured choice does not hold any more: " + why)
        if not self._config.tune.get("first_boot"):
            return
        if known and choice is None:
            self._console.say("engine", "progress", "an earlier tuning was cut off: the engine starts as decided")
        elif not known and self._tuned.begun():
            self.tune({})

    def asked(self) -> dict[str, Any] | None:
        """A request that came since the last look."""
        return self._tuned.request()

    def tune(self, request: dict[str, Any]) -> None:
        """Measure and choose; the engine is stopped afterwards. request: {"keep": True} measures only."""
        before = self._process.choice
        self._process.stop()
        with Phase(self._console, "tuning") as phase:
            rows: list[Row] = []
            began = time.monotonic()
            bench = Bench(self._config, self._engine, self._process, self._patience, self._p_min)
            try:
                ended = self._measure_all(bench, rows, phase, began)
            except Cancelled:
                phase.skip("cancelled: the engine goes on as before")
                ended = "cancelled"
            winner = None if ended == "cancelled" else pick(rows, self._drafts, self._decided[1])
            judge(rows, winner, self._drafts)
            applied = False
            if winner is not None and not request.get("keep"):
                before = self._choice(winner, rows)
                applied = self._tuned.keep(before)
                if not applied:
                    phase.note("the choice holds until the next start only: it cannot be written")
            self._take(before)
            phase.result(
                detail=as_json(
                    rows,
                    id=request.get("id"),
                    chosen=self._choice(winner, rows) if winner else None,
                    decided=list(self._decided),
                    margin=MARGIN,
                    applied=applied,
                    ended=ended,
                    requests=bench.requests,
                    seconds=phase.seconds,
                )
            )

    @property
    def _decided(self) -> Candidate:
        return choice_in(self._config.argv)

    @property
    def _drafts(self) -> list[int]:
        return list(self._config.tune.get("drafts") or DRAFTS)

    def _measure_all(self, bench: Bench, rows: list[Row], phase: Phase, began: float) -> str:
        """Why it ended before everything was tried, or nothing. Raises Cancelled, Stopped."""
        free = not self._config.expects_gpu and self._config.tune.get("threads", True)
        threads = thread_counts(self._decided[1], os.cpu_count() or 1, bool(free))
        most = len(threads) * 2 + max(MOST_DRAFTS, len(self._drafts))
        for number in range(1, most + 2):
            self._patience.pause(0)
            candidate = following(rows, threads, self._drafts)
            if candidate is None:
                best = max(rows, key=lambda row: (row.drafts, row.speed), default=None)
                return cliff(rows, best.threads) if best and best.drafts < max(self._drafts) else ""
            if time.monotonic() - began > BUDGET_SECONDS:
                return "%s was not tried: %d s are over" % (name_of(candidate), BUDGET_SECONDS)
            phase.note("%s (%d of at most %d)" % (name_of(candidate), number, most))
            rows.append(bench.measure(candidate, phase))
        return ""

    def _choice(self, winner: Row, rows: list[Row]) -> dict[str, Any]:
        plain = max((row.speed for row in rows if not row.drafts), default=0.0)
        return {
            "drafts": winner.drafts,
            "threads": winner.threads,
            "tok_s": winner.median,
            "plain_tok_s": plain or None,
            "acceptance": winner.acceptance,
            "at": round(time.time()),
        }

    def _take(self, choice: dict[str, Any] | None) -> None:
        argv = self._config.argv
        if choice is not None:
            argv = with_choice(argv, (int(choice["drafts"]), int(choice["threads"])), self._p_min)
        self._process.choose(argv, self._config.port, choice)
