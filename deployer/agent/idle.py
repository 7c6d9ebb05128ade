"""Nobody has asked anything for long enough: the instance powers itself off, which terminates it."""

from __future__ import annotations

import subprocess
import time

from .aws import AwsError
from .config import Config
from .console import Console
from .lifetime import stack_record
from .readiness import Engine, Usage
from .stop import Stop

#: Counts while nothing serves; its service powers off. Each end of the agent's service starts it, ready stops it.
TIMER = "deployer-idle.timer"
#: At most this long between two looks, and a share of the limit, so that a short one is kept too.
_LOOK_SECONDS, _LOOK_SHARE = 15.0, 20.0
#: What is said on the console is rare: it keeps 64 KiB. An instance that is used more often than this is never told of.
_TOLD_SHARE = 2.0


class Idleness:
    """How long nobody has asked anything. limit, patience: seconds. Times are of one clock that never goes back.

    What happens between two looks shows in the engine's totals. An engine that does not answer may be loading, or too
    busy to: for `patience` that is neither use nor idleness, after that it is idleness, because nobody is served.
    """

    def __init__(self, limit: float, patience: float, now: float) -> None:
        self._limit = limit
        self._patience = patience
        self._since = self._answered = self._looked = now
        self._totals: dict[str, float] = {}

    def take(self, usage: Usage | None, now: float) -> float:
        """One look; the seconds that are left. usage: None when the engine did not answer."""
        if usage is None:
            if now - self._answered <= self._patience:
                self._since += now - self._looked
        else:
            if usage.busy or usage.totals != self._totals:
                self._since = now
            self._answered, self._totals = now, usage.totals
        self._looked = now
        return self._limit - (now - self._since)


def watch(config: Config, console: Console, engine: Engine, stop: Stop) -> None:
    """Never returns but by Stopped. Begins when the engine is ready: whatever comes before is no idleness."""
    limit = config.idle_s
    _systemctl("stop", TIMER)
    idleness = Idleness(limit, max(limit, config.load_s), time.monotonic())
    told, kept = False, 0.0
    while True:
        stop.pause(min(_LOOK_SECONDS, limit / _LOOK_SHARE))
        usage = engine.usage()
        left, now = idleness.take(usage, time.monotonic()), time.time()
        if left > limit / _TOLD_SHARE:
            if told:
                console.say("idle", "done", "in use again")
            told = False
            continue
        if left <= 0 and now >= kept:
            kept = _kept_until(config, tries=6)
            told = told and now >= kept
        if left <= 0 and now >= kept:
            text = "no request for %d s: this instance ends now" % (limit - left)
            console.say("idle", "progress", text, detail={"ends_at": now})
            _systemctl("poweroff")
            stop.pause(60)
        elif not told:
            kept = max(kept, _kept_until(config, tries=1))
            ends = max(now + left, kept)
            text = "no request for %d s: this instance ends in %d s unless one comes" % (limit - left, ends - now)
            console.say("idle", "progress", text, detail={"ends_at": ends})
            told = True


def _kept_until(config: Config, tries: int) -> float:
    """What `deployer extend` wrote, seconds since the epoch; 0 for nothing, or when AWS does not tell."""
    if not config.record:
        return 0.0
    try:
        record = stack_record(config.record, config.ssm_endpoint, config.region, tries, 10 * config.retry_s)
        return float(record.get("keep_until", 0.0))
    except (AwsError, ValueError, TypeError, LookupError, AttributeError):
        return 0.0


def _systemctl(*words: str) -> None:
    try:
        subprocess.run(["systemctl", *words], check=False)
    except OSError as error:
        print("deployer: systemctl %s: %s" % (words, error), flush=True)
