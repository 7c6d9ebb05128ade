"""One look at the account beside what a Deployment wants of it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from deployer.access.keys import ensure_private_key, public_key_of
from deployer.aws import network, own_address
from deployer.aws.names import Names
from deployer.aws.network import Network
from deployer.aws.session import Aws
from deployer.decide.types import Deployment
from deployer.reconcile import desired as desires
from deployer.reconcile.desired import Desired, ec2_parts
from deployer.reconcile.observe import Observed, observe
from deployer.reconcile.operation import made_key_path
from deployer.settings import Settings
from deployer.spec.models import Ec2Stack


@dataclass(frozen=True)
class Look:
    """One look at the account beside what the deployment wants of it."""

    desired: Desired
    observed: Observed
    network: Network


def look(aws: Aws, settings: Settings, deployment: Deployment, *, make_key: bool) -> Look:
    """Observe, and say what should be. make_key: make the private key when it is missing and nothing uses its pair."""
    spec, _ = ec2_parts(deployment)
    names = Names(spec.name, spec.region)
    observed, more = observe(
        aws,
        names,
        network=lambda: network.find(aws, spec.network),
        operator=lambda: _operator_networks(aws, settings, spec),
    )
    key_path = Path(spec.access.key).expanduser() if spec.access.key else made_key_path(settings, names)
    lost = observed.key_pair is not None and bool(observed.live)
    if spec.access.key or key_path.exists():
        public_key: str | None = public_key_of(key_path)
    else:
        public_key = ensure_private_key(key_path) if make_key and not lost else None
    found: Network = more["network"]
    desired = desires.build(
        deployment,
        account=aws.account,
        vpc=found.vpc,
        operator_networks=more["operator"],
        public_key=public_key,
        key_place=str(key_path),
    )
    return Look(desired, observed, found)


def _operator_networks(aws: Aws, settings: Settings, spec: Ec2Stack) -> list[str]:
    if spec.network.security_group is not None:
        return []
    if spec.access.allow != "auto":
        return list(spec.access.allow)
    return [own_address.own_cidr(aws.partition, settings.my_cidr)]
