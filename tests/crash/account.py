"""What an account holds, whole: to see that nothing of it has changed."""

from __future__ import annotations

import json
from typing import Any

from deployer.rehearsal.cloud import Cloud
from tests.cloud.conftest import client_of

#: Somebody else's things, named as ours would be.
_STRANGE_GROUP = "deployer-demo-security-group-2"
_STRANGE_PARAMETER = "/deployer/stacks-of-others/demo"
_STRANGE_ROLE = "deployer-demo-role"


def furnish(url: str) -> None:
    """Put things that are not ours into the account, some with names like ours."""
    ec2 = client_of(url, "ec2")
    [vpc] = ec2.describe_vpcs()["Vpcs"]
    ec2.create_security_group(GroupName=_STRANGE_GROUP, Description="another team's", VpcId=vpc["VpcId"])
    ec2.create_key_pair(KeyName="deployer-demo-key-pair-old")
    image = ec2.describe_images(Owners=["amazon"], Filters=[{"Name": "architecture", "Values": ["x86_64"]}])["Images"][
        0
    ]["ImageId"]
    tags = [{"Key": "Name", "Value": "deployer-demo-instance"}]
    ec2.run_instances(
        ImageId=image,
        InstanceType="g5.xlarge",
        MinCount=1,
        MaxCount=1,
        TagSpecifications=[{"ResourceType": "instance", "Tags": tags}],
    )
    client_of(url, "ssm").put_parameter(Name=_STRANGE_PARAMETER, Value="theirs", Type="String")
    client_of(url, "iam").create_role(RoleName=_STRANGE_ROLE, AssumeRolePolicyDocument="{}")


#: Service, operation and the key of its list: whatever a stack is made of.
_LISTS = (
    ("ec2", "describe_volumes", "Volumes"),
    ("ec2", "describe_network_interfaces", "NetworkInterfaces"),
    ("ec2", "describe_security_groups", "SecurityGroups"),
    ("ec2", "describe_key_pairs", "KeyPairs"),
    ("ssm", "describe_parameters", "Parameters"),
    ("iam", "list_roles", "Roles"),
    ("iam", "list_instance_profiles", "InstanceProfiles"),
)


def snapshot(url: str) -> str:
    """Everything that can be described, every page of it, as text."""
    found: dict[str, Any] = {items: _all(url, *where, items) for *where, items in _LISTS}
    found["Instances"] = [
        one
        for group in _all(url, "ec2", "describe_instances", "Reservations")
        for one in group["Instances"]
        if one["State"]["Name"] != "terminated"
    ]
    return json.dumps(found, default=str, sort_keys=True, indent=1)


def _all(url: str, service: str, operation: str, items: str) -> list[Any]:
    client = client_of(url, service)
    if not client.can_paginate(operation):
        return list(getattr(client, operation)()[items])
    return [one for page in client.get_paginator(operation).paginate() for one in page[items]]


def ours(cloud: Cloud) -> int:
    """How many instances with our tag exist."""
    boxes = (box for box in cloud.fleet.boxes() if box.state not in ("terminated", "shutting-down"))
    return sum(any(tag["key"] == "deployer:stack" for tag in box.instance.get_tags()) for box in boxes)
