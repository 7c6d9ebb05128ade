"""vCPU quotas: RunInstances beyond the bucket's limit is refused, each market counted for itself (E9)."""

from __future__ import annotations

from deployer.catalog import hardware
from deployer.rehearsal.fidelity.call import Call, Proceed, Refusal, Reply
from deployer.rehearsal.fidelity.fleet import Fleet
from deployer.rehearsal.fidelity.world import World

#: First letters of a family -> EC2's quota bucket, longest first.
_BUCKETS = {"inf": "Inf", "trn": "Trn", "dl": "DL", "vt": "G and VT", "g": "G and VT", "p": "P", "f": "F", "x": "X"}


def bucket_of(instance_type: str) -> str:
    """The quota bucket of an instance type, as Service Quotas names it ("Running On-Demand <bucket> instances")."""
    family = instance_type.partition(".")[0]
    return next((bucket for start, bucket in _BUCKETS.items() if family.startswith(start)), "Standard")


class QuotaRule:
    """Counts the vCPUs of everything not terminated."""

    def __init__(self, world: World, fleet: Fleet) -> None:
        self._world = world
        self._fleet = fleet

    def __call__(self, call: Call, proceed: Proceed) -> Reply:
        """The rule."""
        if call.is_("ec2", "RunInstances"):
            name = call.form.get("InstanceType", "")
            bucket = bucket_of(name)
            limit = self._world.options.vcpu_quota.get(bucket)
            facts = hardware.lookup(name)
            spot = call.form.get("InstanceMarketOptions.MarketType") == "spot"
            if limit is not None and facts and self._used(bucket, spot=spot) + facts.vcpus > limit:
                if spot:
                    raise Refusal("MaxSpotInstanceCountExceeded", "Max spot instance count exceeded")
                raise Refusal(
                    "VcpuLimitExceeded",
                    f"You have requested more vCPU capacity than your current vCPU limit of {limit} allows for the "
                    "instance bucket that the specified instance type belongs to. Please request an adjustment to "
                    "this limit.",
                )
        return proceed(call)

    def _used(self, bucket: str, *, spot: bool) -> int:
        return sum(
            box.launch.vcpus
            for box in self._fleet.boxes()
            if box.state not in ("terminated", "shutting-down", "stopped")
            and bucket_of(box.instance.instance_type) == bucket
            and (box.instance.lifecycle == "spot") == spot
        )
