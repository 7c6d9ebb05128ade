"""Every emulated instance of the account and the rules that move it from one state to the next (E3).

Nothing ticks: before each call `settle` looks at the clock and at the background work and moves what is due.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any

from deployer.rehearsal.fidelity.box import Box, State
from deployer.rehearsal.fidelity.world import World
from deployer.rehearsal.machines.base import MachineLaunch

_BY_USER = ("Client.UserInitiatedShutdown", "Client.UserInitiatedShutdown: User initiated shutdown")
_BY_INSTANCE = ("Client.InstanceInitiatedShutdown", "Client.InstanceInitiatedShutdown: Instance initiated shutdown")
BY_MARKET = (
    "Server.SpotInstanceTermination",
    "Server.SpotInstanceTermination: Instance terminated by the Spot service",
)
_BROKEN = ("Server.InternalError", "Server.InternalError: Internal error on launch")


class Fleet:
    """Instances by id. Every method runs under the world's lock."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._boxes: dict[str, Box] = {}

    def adopt(self, instance: Any, launch: MachineLaunch) -> Box:
        """Take over moto's fresh instance: from now on its state follows its machine. Boots it."""
        now = self._world.clock.monotonic()
        hypervisor = self._world.hypervisor
        box = Box(instance, launch, hypervisor, "pending", now + self._world.options.pending_seconds, now)
        self._boxes[box.id] = box
        box.enter("pending")
        # moto changes states through these four methods of its instance; shadowing them on this one object keeps
        # moto's own checks and answers and leaves every other instance of the process alone.
        instance.terminate = lambda: self._end(box, "shutting-down")
        instance.stop = lambda: self._end(box, "stopping")
        instance.start = lambda: self._start(box)
        instance.reboot = lambda: self._reboot(box)
        box.boot()
        return box

    def get(self, instance_id: str) -> Box | None:
        """The instance of that id, terminated ones too."""
        return self._boxes.get(instance_id)

    def boxes(self) -> Iterable[Box]:
        """All instances, in order of launch, terminated ones too."""
        return list(self._boxes.values())

    def reclaim(self, key: str, value: str, seconds: float) -> list[str]:
        """The spot market takes back its running instances with this tag, after that long; their ids.

        The instances find the notice in their metadata.
        """
        self.settle()
        spot = [box for box in self._boxes.values() if box.state == "running" and box.instance.lifecycle == "spot"]
        taken = [box for box in spot if box.has_tag(key, value)]
        for box in taken:
            self._give_notice(box, seconds)
        return [box.id for box in taken]

    def _give_notice(self, box: Box, seconds: float) -> None:
        clock = self._world.clock
        box.reclaimed_at = clock.monotonic() + seconds
        end = datetime.fromtimestamp(clock.now() + seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        box.launch.metadata["spot/instance-action"] = json.dumps({"action": "terminate", "time": end})

    def settle(self) -> None:
        """Move every instance whose transition is over."""
        now = self._world.clock.monotonic()
        for box in list(self._boxes.values()):
            if box.state == "terminated":
                self._forget_when_old(box, now)
            elif box.settled and now >= box.not_before:
                self._advance(box, now)

    def _advance(self, box: Box, now: float) -> None:
        match box.state:
            case "pending" if box.work is not None and box.work.error is not None:
                box.last_console = f"machine did not boot: {box.work.error}\n".encode()
                self._bury(box, now, _BROKEN)
            case "pending":
                box.enter("running")
            case "running" if box.reclaimed_at is not None and now >= box.reclaimed_at:
                self._end(box, "shutting-down", BY_MARKET)
            case "running" if box.machine is not None and box.machine.state == "halted":
                ends = box.instance.instance_initiated_shutdown_behavior == "terminate"
                self._end(box, "shutting-down" if ends else "stopping", _BY_INSTANCE)
            case "shutting-down":
                self._bury(box, now, (box.instance.state_reason.code, box.instance.state_reason.message))
            case "stopping":
                box.enter("stopped", box.instance.state_reason.code, box.instance.state_reason.message)
            case _:
                pass

    def _end(self, box: Box, state: State, why: tuple[str, str] = _BY_USER) -> Any:
        """Begin to stop or terminate; returns moto's state from before, as moto's own method does."""
        before = copy.copy(box.instance._state)
        over = ("terminated", "shutting-down") if state == "shutting-down" else ("stopping", "stopped", "shutting-down")
        if box.state in over:
            return before
        options = self._world.options
        wait = options.shutting_down_seconds if state == "shutting-down" else options.stopping_seconds
        box.not_before = self._world.clock.monotonic() + wait
        box.enter(state, *why)
        if state == "stopping":
            box.stop()
        else:
            box.halt()
        return before

    def _start(self, box: Box) -> Any:
        before = copy.copy(box.instance._state)
        if box.state == "stopped":
            box.not_before = self._world.clock.monotonic() + self._world.options.pending_seconds
            box.enter("pending")
            box.boot()
        return before

    def _reboot(self, box: Box) -> None:
        if box.state == "running":
            box.reboot()

    def _bury(self, box: Box, now: float, why: tuple[str, str]) -> None:
        """The end: moto frees volumes and interfaces, the record stays visible for a while."""
        type(box.instance).terminate(box.instance)
        for interface in box.instance.nics.values():
            interface.public_ip = None
        box.enter("terminated", *why)
        box.ended_at = now

    def _forget_when_old(self, box: Box, now: float) -> None:
        if box.ended_at is None or now - box.ended_at < self._world.options.terminated_visible_seconds:
            return
        del self._boxes[box.id]
        reservations = box.instance.ec2_backend.reservations
        for key, reservation in list(reservations.items()):
            reservation.instances = [i for i in reservation.instances if i.id != box.id]
            if not reservation.instances:
                del reservations[key]
