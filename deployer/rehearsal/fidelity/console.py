"""GetConsoleOutput answers with the machine's own serial console, also after the instance is gone (E17)."""

from __future__ import annotations

import base64
from datetime import UTC, datetime

from deployer.rehearsal.fidelity.call import Call, Proceed, Reply
from deployer.rehearsal.fidelity.fleet import Fleet
from deployer.rehearsal.fidelity.world import World


class ConsoleRule:
    """The last 64 KiB, in base64; no Output at all while nothing was printed, as on EC2."""

    def __init__(self, world: World, fleet: Fleet) -> None:
        self._world = world
        self._fleet = fleet

    def __call__(self, call: Call, proceed: Proceed) -> Reply:
        """The rule."""
        box = self._fleet.get(call.form.get("InstanceId", "")) if call.is_("ec2", "GetConsoleOutput") else None
        if box is None:
            return proceed(call)
        text = base64.b64encode(box.console()).decode()
        stamp = datetime.fromtimestamp(self._world.clock.now(), UTC).strftime("%Y-%m-%dT%H:%M:%S.000Z")
        output = f"<output>{text}</output>" if text else ""
        body = (
            f"<GetConsoleOutputResponse><requestId>console</requestId><instanceId>{box.id}</instanceId>"
            f"<timestamp>{stamp}</timestamp>{output}</GetConsoleOutputResponse>"
        )
        return Reply(200, "text/xml", body.encode())
