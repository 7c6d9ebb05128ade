"""The user's tags on everything that a stack is made of, changed in place."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from deployer.aws.names import Names
from deployer.aws.session import Aws
from deployer.aws.tags import to_aws


def put(aws: Aws, names: Names, ec2_ids: Sequence[str], parameters: Sequence[str], tags: Mapping[str, str]) -> None:
    """Set tags; the same again changes nothing.

    ec2_ids: everything of the stack that EC2 knows by an id. parameters: SSM's beside the record and the API key.
    """
    pairs = to_aws(tags)
    aws.call("ec2", "CreateTags", Resources=list(ec2_ids), Tags=pairs)
    aws.call("iam", "TagRole", RoleName=names.role, Tags=pairs)
    aws.call("iam", "TagInstanceProfile", InstanceProfileName=names.instance_profile, Tags=pairs)
    for name in (names.record, names.api_key, *parameters):
        aws.call("ssm", "AddTagsToResource", ResourceType="Parameter", ResourceId=name, Tags=pairs)


def take_off(aws: Aws, names: Names, ec2_ids: Sequence[str], parameters: Sequence[str], keys: Sequence[str]) -> None:
    """Remove tags by their keys; a key that is not there does no harm."""
    wanted = list(keys)
    aws.call("ec2", "DeleteTags", Resources=list(ec2_ids), Tags=[{"Key": key} for key in wanted])
    aws.call("iam", "UntagRole", RoleName=names.role, TagKeys=wanted)
    aws.call("iam", "UntagInstanceProfile", InstanceProfileName=names.instance_profile, TagKeys=wanted)
    for name in (names.record, names.api_key, *parameters):
        aws.call("ssm", "RemoveTagsFromResource", ResourceType="Parameter", ResourceId=name, TagKeys=wanted)
