"""The instance profile that hands the role to the instance."""

from __future__ import annotations

from dataclasses import dataclass

from deployer.aws import errors
from deployer.aws.names import Names
from deployer.aws.session import Aws
from deployer.aws.tags import TagSet, from_aws, is_ours, to_aws
from deployer.errors import AwsError


@dataclass(frozen=True)
class InstanceProfile:
    """roles: names of the roles inside (AWS allows one)."""

    name: str
    ours: bool
    roles: tuple[str, ...]


def observe(aws: Aws, names: Names) -> InstanceProfile | None:
    """The profile under our name, ours or not."""
    answer = aws.call_unless("not_found", "iam", "GetInstanceProfile", InstanceProfileName=names.instance_profile)
    if answer is None:
        return None
    found = answer["InstanceProfile"]
    roles = tuple(str(role["RoleName"]) for role in found.get("Roles", ()))
    return InstanceProfile(names.instance_profile, is_ours(from_aws(found.get("Tags")), names.stack), roles)


def create(aws: Aws, names: Names, tags: TagSet) -> bool:
    """Create an empty profile; False when one of this name exists."""
    answer = aws.call_unless(
        "exists",
        "iam",
        "CreateInstanceProfile",
        InstanceProfileName=names.instance_profile,
        Tags=to_aws(tags.as_dict()),
    )
    return answer is not None


def put_role(aws: Aws, names: Names) -> None:
    """Put our role inside; when a role is inside already (a reply was lost) this does nothing."""
    try:
        aws.call("iam", "AddRoleToInstanceProfile", InstanceProfileName=names.instance_profile, RoleName=names.role)
    except AwsError as error:
        if error.aws_code != "LimitExceeded" and errors.meaning(error.aws_code) != "exists":
            raise


def take_role(aws: Aws, names: Names, role: str) -> None:
    """Take a role out; one that is out already does no harm."""
    profile = names.instance_profile
    aws.call_unless("not_found", "iam", "RemoveRoleFromInstanceProfile", InstanceProfileName=profile, RoleName=role)


def delete(aws: Aws, names: Names, roles: tuple[str, ...]) -> bool:
    """Take the roles out and delete the profile; False when it was gone."""
    for role in roles:
        take_role(aws, names, role)
    profile = names.instance_profile
    return aws.call_unless("not_found", "iam", "DeleteInstanceProfile", InstanceProfileName=profile) is not None
