"""What can be known of an account before anything is paid for. Only reads, and a RunInstances that does nothing."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from deployer.aws import images, network, quotas
from deployer.aws.session import Aws
from deployer.catalog.types import Hardware
from deployer.decide.checks import Check
from deployer.decide.types import Deployment
from deployer.errors import AwsError, DeployerError, RefusedError
from deployer.spec.models import Ec2Stack
from deployer.spec.network import NetworkSpec


def account_checks(aws: Aws) -> list[Check]:
    """The part that no stack is needed for: who we are, both vCPU quotas, the default network."""
    who = Check("identity", "ok", f"account {aws.account} in {aws.region} as {aws.caller}")
    limits = [_quota(quotas.vcpus(aws, gpu=gpu), None) for gpu in (False, True)]
    return [who, *limits, _attempt("network", lambda: _network(aws, NetworkSpec()))]


def stack_checks(aws: Aws, deployment: Deployment) -> list[Check]:
    """Everything that decides whether this stack can be launched."""
    spec, hardware = deployment.spec, deployment.hardware
    if not isinstance(spec, Ec2Stack):
        return []
    types = (spec.instance.type, *spec.instance.fallbacks)
    limits = [quotas.for_hardware(aws, hardware, spot=market == "spot") for market in spec.instance.markets]
    return [
        _memory(deployment),
        *(_quota(quota, hardware) for quota in limits),
        _attempt("offerings", lambda: _offerings(aws, types)),
        _attempt("network", lambda: _network(aws, spec.network)),
        _attempt("image", lambda: _image(aws, spec, hardware)),
        _attempt("permission", lambda: _dry_run(aws, spec, hardware)),
        *_icp(deployment),
    ]


def _attempt(name: str, look: Callable[[], Check]) -> Check:
    try:
        return look()
    except RefusedError as error:
        return Check(name, "refuse", error.message, error.hint)
    except DeployerError as error:
        return Check(name, "warn", f"unknown: {error.message}", error.hint)


def _memory(deployment: Deployment) -> Check:
    fit = deployment.memory
    numbers = f"needs {fit.need_bytes / 2**30:.1f} of {fit.have_bytes / 2**30:.1f} GiB {fit.where.upper()}"
    return Check("memory", "ok" if fit.fits else "refuse", numbers, None if fit.fits else fit.nearest)


def _quota(quota: quotas.Quota, hardware: Hardware | None) -> Check:
    ask = f"ask for more in the Service Quotas console: {quota.name}"
    if quota.limit is None:
        return Check(
            "quota", "warn", f"{quota.name}: unknown: {quota.why_unknown}", "allow servicequotas:ListServiceQuotas"
        )
    text = f"{quota.name}: {quota.limit:g} vCPUs"
    if hardware is not None and quota.limit < hardware.vcpus:
        return Check("quota", "refuse", f"{text}, {hardware.name} has {hardware.vcpus}", ask)
    return Check("quota", "ok", text) if quota.limit else Check("quota", "warn", text, ask)


def _offerings(aws: Aws, types: Sequence[str]) -> Check:
    zones = network.offering_zones(aws, types)
    text = "; ".join(f"{name}: {', '.join(places) or 'nowhere'}" for name, places in zones.items())
    if not any(zones.values()):
        return Check("offerings", "refuse", text, "another instance.type: deployer advise")
    return Check("offerings", "ok" if zones[types[0]] else "warn", text)


def _network(aws: Aws, spec: NetworkSpec) -> Check:
    found = network.find(aws, spec)
    return Check("network", "ok", f"{found.vpc} with subnets in {', '.join(sorted({s.zone for s in found.subnets}))}")


def _image(aws: Aws, spec: Ec2Stack, hardware: Hardware) -> Check:
    image = images.find(aws, spec.instance.ami, hardware)
    return Check("image", "ok", f"{image.id} ({image.origin})")


def _dry_run(aws: Aws, spec: Ec2Stack, hardware: Hardware) -> Check:
    image = images.find(aws, spec.instance.ami, hardware)
    try:
        aws.call(
            "ec2", "RunInstances", ImageId=image.id, InstanceType=hardware.name, MinCount=1, MaxCount=1, DryRun=True
        )
    except AwsError as error:
        if error.aws_code == "DryRunOperation":
            return Check("permission", "ok", "RunInstances is allowed (dry run)")
        if error.aws_code == "UnauthorizedOperation":
            return Check("permission", "refuse", "RunInstances is not allowed", "allow ec2:RunInstances to this caller")
        raise
    return Check("permission", "warn", "the dry run did not answer as one")


def _icp(deployment: Deployment) -> list[Check]:
    partition, endpoint = deployment.partition, deployment.spec.endpoint
    if partition is None or endpoint.expose != "public":
        return []
    if endpoint.port in partition.blocked_public_ports:
        text = f"port {endpoint.port} is closed to the Internet in {partition.name} until the account has an ICP record"
        return [Check("icp", "warn", text, "another endpoint.port, or an ICP filing")]
    return [Check("icp", "ok", f"port {endpoint.port} is not among those that need an ICP record")]
