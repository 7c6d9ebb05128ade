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


def snapshot(url: str) -> str:
    """Everything that can be described, as text, without what a request itself changes."""
    ec2, ssm, iam = (client_of(url, name) for name in ("ec2", "ssm", "iam"))
    found: dict[str, Any] = {
        "instances": [
            one
            for group in ec2.describe_instances()["Reservations"]
            for one in group["Instances"]
            if one["State"]["Name"] != "terminated"
        ],
        "volumes": ec2.describe_volumes()["Volumes"],
        "interfaces": ec2.describe_network_interfaces()["NetworkInterfaces"],
        "groups": ec2.describe_security_groups()["SecurityGroups"],
        "keys": ec2.describe_key_pairs()["KeyPairs"],
        "parameters": ssm.describe_parameters()["Parameters"],
        "roles": iam.list_roles()["Roles"],
        "profiles": iam.list_instance_profiles()["InstanceProfiles"],
    }
    return json.dumps(found, default=str, sort_keys=True, indent=1)


def ours(cloud: Cloud) -> int:
    """How many instances with our tag exist."""
    boxes = (box for box in cloud.fleet.boxes() if box.state not in ("terminated", "shutting-down"))
    return sum(any(tag["key"] == "deployer:stack" for tag in box.instance.get_tags()) for box in boxes)
