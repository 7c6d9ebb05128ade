"""One operator at a time: who holds, since when, and when another may take over."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable
from dataclasses import asdict, replace
from typing import Any

import pytest

from deployer.aws.names import Names
from deployer.clock import SystemClock
from deployer.errors import LockedError
from deployer.events import ignore
from deployer.reconcile import holder
from deployer.reconcile.lease import EXPIRY_SECONDS, Lease, current

NAMES = Names("demo", "cn-northwest-1")


class SetClock:
    """Moves only when it is told to, or slept on."""

    def __init__(self) -> None:
        self.time = SystemClock().now()

    def now(self) -> float:
        return self.time

    def monotonic(self) -> float:
        return self.time

    def sleep(self, seconds: float) -> None:
        self.time += seconds


@pytest.fixture
def clock() -> SetClock:
    return SetClock()


@pytest.fixture
def lease_of(operator: Any, clock: SetClock) -> Callable[..., Lease]:
    """A lease of another attempt to hold the same stack."""

    def make(wait_seconds: float = 0.0) -> Lease:
        operator.target()
        return Lease(operator.aws, NAMES, clock, operator.events.append, wait_seconds=wait_seconds)

    return make


def put(boto: Callable[..., Any], number: int, who: holder.Holder, expires_at: float) -> None:
    value = json.dumps({"holder": asdict(who), "since": expires_at - EXPIRY_SECONDS, "expires_at": expires_at})
    boto("ssm").put_parameter(Name=f"{NAMES.leases}/{number}", Value=value, Type="String")


def elsewhere() -> holder.Holder:
    return replace(holder.this_process(), user="li", host="build-7", machine="another", nonce="n")


def test_a_living_holder_is_named(operator: Any, lease_of: Callable[..., Lease]) -> None:
    with lease_of(), pytest.raises(LockedError) as caught:
        lease_of().__enter__()
    error = caught.value
    assert error.exit_code == 8
    assert f"process {os.getpid()}" in error.message
    assert "UTC" in error.message
    assert operator.resources() == []


def test_it_is_waited_for(boto: Callable[..., Any], lease_of: Callable[..., Lease], clock: SetClock) -> None:
    put(boto, 1, elsewhere(), clock.now() + 30)
    with pytest.raises(LockedError):
        lease_of(wait_seconds=10).__enter__()
    with lease_of(wait_seconds=60) as lease:
        lease.check()


def test_an_expired_one_is_taken_over_and_the_old_holder_finds_out(
    operator: Any, lease_of: Callable[..., Lease], clock: SetClock
) -> None:
    with lease_of() as first:
        clock.time += EXPIRY_SECONDS + 1
        with lease_of() as second:
            with pytest.raises(LockedError, match="taken over"):
                first.check()
            second.check()
            hold = current(operator.aws, NAMES)
            assert hold is not None
            assert hold.number == 2
    assert operator.resources() == []


def test_a_holder_that_slept_alone_goes_on(lease_of: Callable[..., Lease], clock: SetClock) -> None:
    with lease_of() as lease:
        clock.time += EXPIRY_SECONDS + 1
        lease.check()


def test_a_dead_process_of_this_machine_is_taken_over_at_once(
    operator: Any, boto: Callable[..., Any], lease_of: Callable[..., Lease], clock: SetClock
) -> None:
    mine = holder.this_process()
    put(boto, 7, replace(mine, start="1", nonce="n"), clock.now() + 50)
    with lease_of():
        hold = current(operator.aws, NAMES)
        assert hold is not None
        assert hold.number == 8
    assert operator.resources() == []


def test_a_process_of_another_machine_is_never_called_dead(
    boto: Callable[..., Any], lease_of: Callable[..., Lease], clock: SetClock
) -> None:
    put(boto, 1, replace(elsewhere(), pid=1, start="1"), clock.now() + 50)
    with pytest.raises(LockedError, match="li@build-7"):
        lease_of().__enter__()


def test_a_lease_that_cannot_be_read_blocks_nobody(
    operator: Any, boto: Callable[..., Any], lease_of: Callable[..., Lease]
) -> None:
    boto("ssm").put_parameter(Name=f"{NAMES.leases}/1", Value="gibberish", Type="String")
    with lease_of():
        pass
    assert operator.resources() == []


def test_only_one_of_many_wins(operator: Any) -> None:
    operator.target()
    barrier = threading.Barrier(8)
    won: list[Lease] = []
    lost: list[LockedError] = []

    def contend() -> None:
        lease = Lease(operator.aws, NAMES, SystemClock(), ignore)
        barrier.wait()
        try:
            lease.__enter__()
            won.append(lease)
        except LockedError as error:
            lost.append(error)

    threads = [threading.Thread(target=contend) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert (len(won), len(lost)) == (1, 7)
    won[0].__exit__(None, None, None)
    assert operator.resources() == []


def test_up_and_down_respect_it(
    operator: Any, boto: Callable[..., Any], refused: Callable[..., Any], clock: SetClock
) -> None:
    put(boto, 1, elsewhere(), clock.now() + 50)
    assert refused(operator.up).exit_code == 8
    assert refused(operator.down).exit_code == 8
    assert operator.instances() == []
    assert operator.named("step.start") == []
