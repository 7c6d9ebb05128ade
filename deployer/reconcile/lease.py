"""The lease: one operator at a time works on a stack.

Leases are numbered SSM parameters, created without overwrite, so taking over an expired one is an atomic create of the
next number. The highest number holds. A holder that lost its lease (it slept past the expiry) finds out before its
next write, because it never recreates its own parameter.
"""

from __future__ import annotations

import json
import threading
from contextlib import suppress
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from types import TracebackType

from deployer.aws import errors, parameters, tags
from deployer.aws.names import Names
from deployer.aws.session import Aws
from deployer.clock import Clock
from deployer.errors import AwsError, DeployerError, LockedError
from deployer.events import Emit, Event
from deployer.reconcile.holder import Holder, is_dead, this_process

EXPIRY_SECONDS = 60.0
RENEW_SECONDS = 20.0
POLL_SECONDS = 2.0
RACE_SECONDS = 0.3


@dataclass(frozen=True)
class Hold:
    """One lease parameter as read. since and expires_at: seconds since the epoch."""

    number: int
    holder: Holder
    since: float
    expires_at: float


def current(aws: Aws, names: Names) -> Hold | None:
    """The lease that holds, living or expired."""
    holds = _holds(aws, names)
    return holds[-1] if holds else None


class Lease:
    """A context manager: acquired on entry, deleted on exit, renewed by a thread in between.

    wait_seconds: how long to wait for a living holder before LockedError. required: False for an operator who must
    be able to work without a lease when AWS does not allow to make or renew one, which is then told.
    """

    def __init__(
        self,
        aws: Aws,
        names: Names,
        clock: Clock,
        emit: Emit,
        *,
        wait_seconds: float = 0.0,
        required: bool = True,
    ) -> None:
        self._aws = aws
        self._names = names
        self._clock = clock
        self._emit = emit
        self._wait_seconds = wait_seconds
        self._required = required
        self._without = False
        self._me = this_process()
        self._number = 0
        self._since = 0.0
        self._expires_at = 0.0
        #: Names of lease parameters that could not be deleted.
        self.remains: list[str] = []
        self._stop = threading.Event()
        self._lost: str | None = None
        self._thread: threading.Thread | None = None
        self._renewing = threading.Lock()

    @property
    def holder(self) -> str:
        """Who we are, for the record."""
        return str(self._me)

    def __enter__(self) -> Lease:
        try:
            self._acquire()
        except AwsError as error:
            self._go_without(error)
            return self
        self._thread = threading.Thread(target=self._renew_forever, name="lease", daemon=True)
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop.set()
        with self._renewing:
            if self._lost is not None:
                return
        if self._number:
            self._drop(self._number)

    def check(self) -> None:
        """Raise LockedError when the lease is not ours any more. Called before writes and in every wait."""
        if not self._without and self._lost is None and self._clock.now() > self._expires_at:
            try:
                self._renew()
            except AwsError as error:
                self._go_without(error)
        if self._lost is not None:
            raise LockedError(
                f"the lease on stack {self._names.stack} was lost: {self._lost}",
                hint="another operator may work on the stack now; `deployer status` shows it",
            )

    def _go_without(self, error: AwsError) -> None:
        if self._required or errors.meaning(error.aws_code) != "permission":
            raise error
        self._without = True
        text = f"works on stack {self._names.stack} without a lease: {error.message}"
        self._emit(Event("warning", {"message": text, "hint": error.hint}))

    def _acquire(self) -> None:
        start = self._clock.monotonic()
        while True:
            hold = current(self._aws, self._names)
            if hold is None or hold.expires_at < self._clock.now() or is_dead(hold.holder):
                if self._take(1 if hold is None else hold.number + 1):
                    return
                # Somebody else was faster, and may not show yet: look again, but not forever.
                self._give_up_after(start, EXPIRY_SECONDS)
                self._clock.sleep(RACE_SECONDS)
                continue
            waited = self._clock.monotonic() - start
            if waited >= self._wait_seconds:
                raise self._locked(hold, waited)
            self._emit(
                Event(
                    "waiting",
                    {
                        "what": f"lease of stack {self._names.stack}",
                        "observation": f"held by {hold.holder} since {_time(hold.since)}",
                        "seconds": round(waited, 1),
                        "deadline_seconds": self._wait_seconds,
                    },
                )
            )
            self._clock.sleep(POLL_SECONDS)

    def _give_up_after(self, start: float, seconds: float) -> None:
        if self._clock.monotonic() - start > max(seconds, self._wait_seconds):
            raise LockedError(
                f"the lease on stack {self._names.stack} changes hands faster than it can be taken",
                where=self._names.leases,
                hint="run the same command again",
            )

    def _take(self, number: int) -> bool:
        self._since = self._clock.now()
        self._expires_at = self._since + EXPIRY_SECONDS
        mark = {tags.STACK: self._names.stack}
        made = parameters.create(self._aws, self._name(number), self._value(), tag=mark)
        holds = _holds(self._aws, self._names)
        mine = next((hold for hold in holds if hold.number == number and hold.holder.nonce == self._me.nonce), None)
        if mine is None and not made:
            return False
        if any(hold.number > number for hold in holds):
            # Between our look and our create another one took over, and finished or not: the higher number holds.
            parameters.delete(self._aws, self._name(number))
            return False
        self._number = number
        for old in holds:
            if old.number < number:
                self._drop(old.number)
        return True

    def _drop(self, number: int) -> None:
        """Delete a lease parameter; one that stays expires, so that is told and never stops the work itself."""
        try:
            parameters.delete(self._aws, self._name(number))
        except DeployerError as error:
            self.remains.append(self._name(number))
            text = f"the lease {self._name(number)} could not be deleted: {error.message}"
            self._emit(Event("warning", {"message": text, "hint": error.hint}))
            if number == self._number:
                # What cannot be deleted can still be given up, so that nobody waits for it.
                self._expires_at = 0.0
                with suppress(DeployerError):
                    parameters.overwrite(self._aws, self._name(number), self._value())

    def _renew_forever(self) -> None:
        while not self._stop.wait(RENEW_SECONDS):
            try:
                self._renew()
            except DeployerError as error:
                # The next turn tries again; past the expiry check() decides.
                self._emit(Event("warning", {"message": f"lease not renewed: {error.message}", "hint": None}))

    def _renew(self) -> None:
        with self._renewing:
            if self._stop.is_set() or self._lost is not None:
                return
            holds = _holds(self._aws, self._names)
            mine = any(hold.holder.nonce == self._me.nonce for hold in holds)
            if not mine or any(hold.number > self._number for hold in holds):
                other = next((hold for hold in holds if hold.holder.nonce != self._me.nonce), None)
                self._lost = f"taken over by {other.holder}" if other else "it expired and was taken away"
                return
            self._expires_at = self._clock.now() + EXPIRY_SECONDS
            parameters.overwrite(self._aws, self._name(self._number), self._value())

    def _name(self, number: int) -> str:
        return f"{self._names.leases}/{number}"

    def _value(self) -> str:
        return json.dumps({"holder": asdict(self._me), "since": self._since, "expires_at": self._expires_at})

    def _locked(self, hold: Hold, waited: float) -> LockedError:
        patience = f" (waited {waited:.0f} s)" if waited else ""
        return LockedError(
            f"stack {self._names.stack} is held by {hold.holder} since {_time(hold.since)}; "
            f"the lease runs until {_time(hold.expires_at)} unless it is renewed{patience}",
            where=self._name(hold.number),
            hint="try again when it is done; the lease of a process that died expires within a minute",
        )


def _holds(aws: Aws, names: Names) -> list[Hold]:
    found = [parse_hold(parameter.name, parameter.value) for parameter in parameters.below(aws, names.leases)]
    return sorted((hold for hold in found if hold is not None), key=lambda hold: hold.number)


def parse_hold(name: str, value: str) -> Hold | None:
    """A lease that cannot be read counts as expired since ever, so it is taken over and never blocks a stack."""
    number = name.rpartition("/")[2]
    if not number.isdigit():
        return None
    try:
        body = json.loads(value)
        return Hold(int(number), Holder(**body["holder"]), float(body["since"]), float(body["expires_at"]))
    except (ValueError, TypeError, KeyError):
        unknown = Holder(user="unknown", host="unknown", pid=0, start="", machine="", nonce="")
        return Hold(int(number), unknown, 0.0, 0.0)


def _time(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
