"""Spot requests as EC2 shows them: moto makes none for an instance that RunInstances bought as spot (E11)."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from xml.sax.saxutils import escape

from deployer.rehearsal.fidelity.box import Box
from deployer.rehearsal.fidelity.call import Call, Proceed, Reply
from deployer.rehearsal.fidelity.fleet import BY_MARKET, Fleet
from deployer.rehearsal.fidelity.world import World


class SpotRule:
    """Answers DescribeSpotInstanceRequests from the instances: state and status code follow the instance's own."""

    def __init__(self, world: World, fleet: Fleet) -> None:
        self._world = world
        self._fleet = fleet

    def __call__(self, call: Call, proceed: Proceed) -> Reply:
        """The rule."""
        if not call.is_("ec2", "DescribeSpotInstanceRequests"):
            return proceed(call)
        stamp = datetime.fromtimestamp(self._world.clock.now(), UTC).strftime("%Y-%m-%dT%H:%M:%S.000Z")
        items = "".join(_item(box, stamp) for box in self._asked_for(call))
        name = "DescribeSpotInstanceRequestsResponse"
        body = f"<{name}><spotInstanceRequestSet>{items}</spotInstanceRequestSet></{name}>"
        return Reply(200, "text/xml", body.encode())

    def _asked_for(self, call: Call) -> Iterable[Box]:
        """Those of an instance-id filter, all without one."""
        wanted = call.listed("Filter.1.Value") if call.form.get("Filter.1.Name") == "instance-id" else None
        for box in self._fleet.boxes():
            if box.instance.lifecycle == "spot" and (wanted is None or box.id in wanted):
                yield box


def _item(box: Box, stamp: str) -> str:
    state, code = _state(box)
    fields = {
        "spotInstanceRequestId": f"sir-{box.id.removeprefix('i-')[:8]}",
        "instanceId": box.id,
        "type": "one-time",
        "state": state,
    }
    told = "".join(f"<{name}>{escape(value)}</{name}>" for name, value in fields.items())
    return f"<item>{told}<status><code>{code}</code><updateTime>{stamp}</updateTime></status></item>"


def _state(box: Box) -> tuple[str, str]:
    if box.state in ("shutting-down", "terminated"):
        by_market = box.instance.state_reason.code == BY_MARKET[0]
        return "closed", "instance-terminated-no-capacity" if by_market else "instance-terminated-by-user"
    return "active", "fulfilled" if box.reclaimed_at is None else "marked-for-termination"
