"""What the rules share: one account, one clock, one lock, the instances and the options of the moment."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field

from deployer.clock import Clock
from deployer.rehearsal.fidelity.call import Call
from deployer.rehearsal.fidelity.options import Options
from deployer.rehearsal.machines.base import Hypervisor


@dataclass
class World:
    """lock: held while one call is worked on, so that rules and moto see one call at a time.

    current: the call being worked on. profiles_ready: instance profile name -> when EC2 will know it.
    """

    account: str
    clock: Clock
    hypervisor: Hypervisor
    options: Options = field(default_factory=Options)
    lock: threading.RLock = field(default_factory=threading.RLock)
    current: Call | None = None
    profiles_ready: dict[str, float] = field(default_factory=dict)
