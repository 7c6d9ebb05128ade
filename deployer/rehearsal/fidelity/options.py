"""What of the embedded cloud can be set: how long transitions take, how late describes are, how much quota there is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any

from deployer.errors import UsageError


@dataclass(frozen=True)
class Options:
    """Seconds are on the cloud's clock.

    pending_seconds, shutting_down_seconds, stopping_seconds: the least time a transition takes; it also waits for
        the machine's own boot or halt.
    terminated_visible_seconds: how long a terminated instance is still described (about an hour on EC2).
    lag_seconds: a fresh instance or group is missing from describes for up to this long, by `lag_seed` and its id.
    profile_lag_seconds: RunInstances does not know an instance profile for this long after it was given its role.
    vcpu_quota: bucket (`Standard`, `G and VT`, `P`, ...) -> vCPUs that may run at once; no entry means no limit.
    call_seconds: added to every call, as a real network would.
    """

    pending_seconds: float = 0.3
    shutting_down_seconds: float = 0.3
    stopping_seconds: float = 0.3
    terminated_visible_seconds: float = 3600.0
    lag_seconds: float = 0.0
    lag_seed: int = 0
    profile_lag_seconds: float = 0.0
    call_seconds: float = 0.0
    vcpu_quota: Mapping[str, int] = field(default_factory=dict)

    def changed(self, changes: Mapping[str, Any]) -> Options:
        """These options with some replaced. Raises UsageError on a name that does not exist."""
        known = {f.name for f in fields(self)}
        if unknown := sorted(set(changes) - known):
            raise UsageError(f"unknown sandbox option {unknown[0]!r}", hint="one of " + ", ".join(sorted(known)))
        return replace(self, **changes)
