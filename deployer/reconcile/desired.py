"""What AWS should show for a Deployment, as plain values."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from deployer.aws.names import Names
from deployer.aws.resources.role import canonical, policy_document, trust_document
from deployer.aws.resources.security_group import Rule
from deployer.aws.tags import changeable
from deployer.catalog import partition as partitions
from deployer.catalog.types import Partition
from deployer.decide.types import Deployment
from deployer.render.program import Program, part_names, program
from deployer.spec.models import Ec2Stack
from deployer.spec.network import PrivateEndpoint, PublicEndpoint


@dataclass(frozen=True)
class Desired:
    """public_key: `type base64`, None while the private key is still to be made on this machine.

    rules: None when the user brings a security group. launch_digest: changes exactly when the instance must be another.
    program: what an instance launched now fetches. ttl, idle: as in the spec.
    markets: in which the instance may be bought.
    user_tags: the spec's own tags that can be changed on what exists.
    """

    names: Names
    spec_digest: str
    launch_digest: str
    vpc: str
    rules: frozenset[Rule] | None
    public_key: str | None
    key_place: str
    trust: str
    policy: str
    ttl: str | None = None
    idle: str | None = None
    markets: tuple[str, ...] = ("on-demand",)
    user_tags: Mapping[str, str] = field(default_factory=dict)
    program: Program = field(default_factory=program)

    @property
    def program_parts(self) -> dict[str, str]:
        """SSM parameter name -> value of the agent's program."""
        return part_names(self.names.programs, self.program)


def build(
    deployment: Deployment,
    *,
    account: str,
    vpc: str,
    operator_networks: Iterable[str],
    public_key: str | None,
    key_place: str,
) -> Desired:
    """operator_networks: who may reach the SSH port. key_place: where the private key is or will be, for messages."""
    spec, partition = ec2_parts(deployment)
    names = Names(spec.name, spec.region)
    image = deployment.engine.image
    policy = policy_document(partition, spec.region, account, names, spec.model.source, image)
    return Desired(
        names=names,
        spec_digest=deployment.spec_digest,
        launch_digest=launch_digest(deployment, public_key),
        vpc=vpc,
        rules=None if spec.network.security_group else ingress(spec, operator_networks),
        public_key=public_key,
        key_place=key_place,
        trust=canonical(trust_document(partition)),
        policy=canonical(policy),
        ttl=spec.lifetime.ttl,
        idle=spec.lifetime.idle,
        markets=spec.instance.markets,
        user_tags=changeable(spec.tags),
    )


def ec2_parts(deployment: Deployment) -> tuple[Ec2Stack, Partition]:
    """The spec and the partition of an EC2 deployment."""
    assert isinstance(deployment.spec, Ec2Stack)
    assert deployment.partition is not None
    return deployment.spec, deployment.partition


def ingress(spec: Ec2Stack, operator_networks: Iterable[str]) -> frozenset[Rule]:
    """SSH for the operator; the endpoint's port only when the spec exposes it."""
    rules = {Rule(spec.access.port, cidr) for cidr in operator_networks}
    match spec.endpoint:
        case PrivateEndpoint(port=port, allow=allow) | PublicEndpoint(port=port, allow=allow):
            rules |= {Rule(port, cidr) for cidr in allow}
    return frozenset(rules)


def metadata_hops(deployment: Deployment) -> int:
    """IMDSv2's hop limit: a container is one hop further away."""
    return 2 if deployment.engine.runtime == "docker" else 1


def launch_digest(deployment: Deployment, public_key: str | None) -> str:
    """sha256 hex, 16 characters, of everything an instance gets once and keeps.

    The ttl is among it: the timer on the instance cannot be changed from here. Left out on purpose: tags (changed in
    place), fallbacks (no reason for another instance), the market (an instance shows its own), the resolved image id
    (a new release of the image is not a change of the spec), generation.
    """
    from deployer.render.agent_config import LaunchFacts, agent_config

    spec, partition = ec2_parts(deployment)
    facts = LaunchFacts(
        api_key_parameter=Names(spec.name, spec.region).api_key,
        generation=0,
        expires_at=None,
        ssm_endpoint=partitions.endpoint(partition, "ssm", spec.region),
    )
    config: dict[str, Any] = agent_config(deployment, facts)
    # Of use on a first boot only: no reason for another instance.
    limits = {name: limit for name, limit in config.pop("tune", {}).items() if name != "first_boot"}
    config.update({"tune": limits} if limits else {})
    launch: dict[str, Any] = {
        "instance": spec.instance.model_dump(mode="json", exclude={"fallbacks", "market"}),
        "ttl": spec.lifetime.ttl,
        "network": spec.network.model_dump(mode="json"),
        "root_volume_gib": deployment.root_volume_gib,
        "metadata_hops": metadata_hops(deployment),
        "public_key": public_key,
        "agent": config,
    }
    return hashlib.sha256(json.dumps(launch, sort_keys=True).encode()).hexdigest()[:16]
