"""Start, stop, reboot and terminate say what the instance is now, and refuse what its state does not allow (E3)."""

from __future__ import annotations

import re
from dataclasses import replace

from deployer.rehearsal.fidelity.box import STATE_CODES
from deployer.rehearsal.fidelity.call import Call, Proceed, Refusal, Reply
from deployer.rehearsal.fidelity.fleet import Fleet

#: Operation -> states from which EC2 takes it. TerminateInstances is always taken.
_ALLOWED = {
    "StartInstances": ("stopped", "running", "pending"),
    "StopInstances": ("running", "stopping", "stopped"),
    "RebootInstances": ("running", "pending"),
}
_ITEM = re.compile(rb"<item>.*?</item>", re.DOTALL)
_ID = re.compile(rb"<instanceId>(i-[0-9a-f]+)</instanceId>")
_CURRENT = re.compile(rb"<currentState>.*?</currentState>", re.DOTALL)


class TransitionRule:
    """Moto writes a fixed current state into these replies and refuses nothing."""

    def __init__(self, fleet: Fleet) -> None:
        self._fleet = fleet

    def __call__(self, call: Call, proceed: Proceed) -> Reply:
        """The rule."""
        if not call.is_("ec2", "TerminateInstances", *_ALLOWED):
            return proceed(call)
        allowed = _ALLOWED.get(call.operation)
        for instance_id in call.listed("InstanceId"):
            box = self._fleet.get(instance_id)
            if box is not None and allowed is not None and box.state not in allowed:
                raise Refusal(
                    "IncorrectInstanceState",
                    f"The instance '{instance_id}' is not in a state from which it can be "
                    f"{'started' if call.operation == 'StartInstances' else 'stopped or rebooted'} ({box.state}).",
                )
        reply = proceed(call)
        return replace(reply, body=_ITEM.sub(self._item, reply.body))

    def _item(self, match: re.Match[bytes]) -> bytes:
        item = match.group()
        found = _ID.search(item)
        box = self._fleet.get(found.group(1).decode()) if found else None
        if box is None:
            return item
        state = f"<currentState><code>{STATE_CODES[box.state]}</code><name>{box.state}</name></currentState>"
        return _CURRENT.sub(state.encode(), item)
