"""One call at a time: the rules and moto share state that is not made for threads."""

from __future__ import annotations

from deployer.rehearsal.fidelity.call import Call, Proceed, Reply
from deployer.rehearsal.fidelity.fleet import Fleet
from deployer.rehearsal.fidelity.world import World


class SerialRule:
    """Takes the lock, moves every instance that is due, and says which call is being worked on."""

    def __init__(self, world: World, fleet: Fleet) -> None:
        self._world = world
        self._fleet = fleet

    def __call__(self, call: Call, proceed: Proceed) -> Reply:
        """The rule."""
        if self._world.options.call_seconds:
            self._world.clock.sleep(self._world.options.call_seconds)
        with self._world.lock:
            self._fleet.settle()
            self._world.current = call
            try:
                return proceed(call)
            finally:
                self._world.current = None
