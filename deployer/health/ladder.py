"""Climb the rungs in order: each with a deadline, a last observation and an early abort."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from deployer.clock import Clock
from deployer.errors import NotHealthyError
from deployer.events import Emit, Event
from deployer.health.base import Observation, Probe, ProbeState

#: Seconds between two looks: short at first, so that what is ready at once costs nothing.
FIRST_POLL_SECONDS = 0.1
LONGEST_POLL_SECONDS = 2.0
_GROWTH = 1.5
#: A `waiting` event at least that often.
_WAITING_SECONDS = 10.0
_HINT = "`deployer status` shows what the instance says now"


def _nothing() -> None:
    """The keep_alive of a caller that holds no lease."""


def climb(
    probes: Sequence[Probe], *, clock: Clock, emit: Emit, keep_alive: Callable[[], None] = _nothing
) -> list[tuple[str, Observation]]:
    """Every rung's name with its last observation.

    A deciding rung that fails or stays `waiting` past its deadline raises its own typed error, else NotHealthyError.
    Another rung then only warns. A rung that has `recheck_seconds` and passed is looked at again that often while
    later rungs wait, so that an instance that is terminated meanwhile ends the climb.
    keep_alive is called between two looks.
    """
    done: list[tuple[str, Observation]] = []
    lasting: list[_Recheck] = []
    for probe in probes:
        observation = _Rung(probe, lasting, clock, emit, keep_alive).settle()
        done.append((probe.name, observation))
        if hasattr(probe, "recheck_seconds"):
            lasting.append(_Recheck(probe, probe.recheck_seconds, clock.monotonic()))
    return done


@dataclass
class _Recheck:
    """A rung that passed and must keep holding."""

    probe: Probe
    every_seconds: float
    looked_at: float


class _Rung:
    """One rung while it is being climbed."""

    def __init__(
        self, probe: Probe, lasting: Sequence[_Recheck], clock: Clock, emit: Emit, keep_alive: Callable[[], None]
    ) -> None:
        self._probe = probe
        self._lasting = lasting
        self._clock = clock
        self._emit = emit
        self._keep_alive = keep_alive
        self._start = clock.monotonic()
        self._shown: ProbeState | None = None
        self._spoke_at = self._start

    def settle(self) -> Observation:
        poll = FIRST_POLL_SECONDS
        while True:
            observation = self._verdict(self._probe.check())
            self._show(observation)
            if observation.state == "failed":
                raise _error(self._probe, observation)
            if observation.state != "waiting":
                return observation
            self._clock.sleep(max(0.0, min(poll, self._probe.deadline_seconds - self._elapsed())))
            poll = min(poll * _GROWTH, LONGEST_POLL_SECONDS)
            self._keep_alive()
            self._recheck()

    def _elapsed(self) -> float:
        return self._clock.monotonic() - self._start

    def _verdict(self, seen: Observation) -> Observation:
        """What one look means for the climb: waiting ends at the deadline, and only deciding rungs may fail."""
        deadline = self._probe.deadline_seconds
        if seen.state == "waiting" and self._elapsed() >= deadline:
            seen = _late(self._probe, seen, deadline)
        if seen.state == "failed" and not self._probe.decides:
            return Observation("warned", seen.text, seen.error)
        return seen

    def _show(self, seen: Observation) -> None:
        name, now = self._probe.name, self._clock.monotonic()
        if seen.state != self._shown:
            self._emit(
                Event(
                    "probe",
                    {
                        "rung": name,
                        "state": seen.state,
                        "observation": seen.text,
                        "seconds": round(self._elapsed(), 3),
                    },
                )
            )
            self._shown = seen.state
            if seen.state == "warned":
                hint = seen.error.hint if seen.error else None
                self._emit(Event("warning", {"message": f"{name}: {seen.text}", "hint": hint}))
        elif now - self._spoke_at < _WAITING_SECONDS:
            return
        else:
            self._emit(
                Event(
                    "waiting",
                    {
                        "what": name,
                        "observation": seen.text,
                        "seconds": round(self._elapsed(), 1),
                        "deadline_seconds": round(self._probe.deadline_seconds, 1),
                    },
                )
            )
        self._spoke_at = now

    def _recheck(self) -> None:
        now = self._clock.monotonic()
        for earlier in self._lasting:
            if now - earlier.looked_at < earlier.every_seconds:
                continue
            earlier.looked_at = now
            seen = earlier.probe.check()
            if seen.state == "failed":
                name = earlier.probe.name
                self._emit(Event("probe", {"rung": name, "state": "failed", "observation": seen.text, "seconds": None}))
                raise _error(earlier.probe, seen)


def _late(probe: Probe, seen: Observation, deadline: float) -> Observation:
    """The deadline's own error: what was seen last is a symptom, though its hint may help."""
    text = f"not within {deadline:.0f} s; last seen: {seen.text}"
    hint = seen.error.hint if seen.error else None
    error = NotHealthyError(f"{probe.name}: {text}", where=probe.name, hint=hint or _HINT)
    return Observation("failed", text, error)


def _error(probe: Probe, seen: Observation) -> Exception:
    return seen.error or NotHealthyError(f"{probe.name}: {seen.text}", where=probe.name, hint=_HINT)
