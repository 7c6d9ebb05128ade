"""The instance's role: it may read this stack's API key and agent, an S3 source's prefix, an ECR image. No more."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from deployer.aws.names import Names
from deployer.aws.session import Aws
from deployer.aws.tags import TagSet, from_aws, is_ours, to_aws
from deployer.catalog import partition as partitions
from deployer.catalog import registry
from deployer.catalog.types import Partition

POLICY_NAME = "deployer"
#: What `docker pull` asks of ECR.
_PULL = ("ecr:BatchCheckLayerAvailability", "ecr:BatchGetImage", "ecr:GetDownloadUrlForLayer")


@dataclass(frozen=True)
class Role:
    """trust and policy are canonical JSON; policy is None when our inline policy is missing."""

    name: str
    ours: bool
    trust: str
    policy: str | None


def canonical(document: object) -> str:
    """JSON that compares."""
    return json.dumps(document, sort_keys=True, separators=(",", ":"))


def trust_document(partition: Partition) -> dict[str, Any]:
    """Only EC2 may use the role, by the principal of this partition."""
    principal = partitions.trust_principal(partition, "ec2")
    return {
        "Version": "2012-10-17",
        "Statement": [{"Effect": "Allow", "Principal": {"Service": principal}, "Action": "sts:AssumeRole"}],
    }


def policy_document(
    partition: Partition, region: str, account: str, names: Names, source: str | None, image: str | None = None
) -> dict[str, Any]:
    """Least privilege. source: the spec's model.source; `s3://BUCKET/PREFIX` adds reading below that prefix.

    image: what the instance pulls; one in ECR adds reading that repository.
    """
    key = partitions.arn(partition, "ssm", region, account, f"parameter{names.api_key}")
    record = partitions.arn(partition, "ssm", region, account, f"parameter{names.record}")
    programs = partitions.arn(partition, "ssm", region, account, f"parameter{names.programs}/*")
    statements: list[dict[str, Any]] = [
        {"Effect": "Allow", "Action": "ssm:GetParameter", "Resource": key},
        {"Effect": "Allow", "Action": "ssm:GetParameters", "Resource": [programs, record]},
    ]
    if source is not None and source.startswith("s3://"):
        bucket, _, prefix = source.removeprefix("s3://").partition("/")
        place = f"{bucket}/{prefix.strip('/')}/*" if prefix.strip("/") else f"{bucket}/*"
        model = partitions.arn(partition, "s3", "", "", place)
        statements.append({"Effect": "Allow", "Action": "s3:GetObject", "Resource": model})
    stored = registry.parse(image) if image is not None else None
    if stored is not None and (repository := stored.arn()) is not None:
        statements.append({"Effect": "Allow", "Action": list(_PULL), "Resource": repository})
        # A token is for the whole registry: IAM knows no narrower resource for it.
        statements.append({"Effect": "Allow", "Action": "ecr:GetAuthorizationToken", "Resource": "*"})
    return {"Version": "2012-10-17", "Statement": statements}


def observe(aws: Aws, names: Names) -> Role | None:
    """The role under our name, ours or not."""
    answer = aws.call_unless("not_found", "iam", "GetRole", RoleName=names.role)
    if answer is None:
        return None
    found = answer["Role"]
    ours = is_ours(from_aws(found.get("Tags")), names.stack)
    trust = canonical(found.get("AssumeRolePolicyDocument"))
    return Role(names.role, ours, trust, _policy(aws, names) if ours else None)


def create(aws: Aws, names: Names, tags: TagSet, trust: str) -> bool:
    """Create the role without any permission; False when one of this name exists."""
    answer = aws.call_unless(
        "exists",
        "iam",
        "CreateRole",
        RoleName=names.role,
        AssumeRolePolicyDocument=trust,
        Description=f"deployer stack {names.stack}",
        Tags=to_aws(tags.as_dict()),
    )
    return answer is not None


def set_trust(aws: Aws, names: Names, trust: str) -> None:
    """Replace the trust policy."""
    aws.call("iam", "UpdateAssumeRolePolicy", RoleName=names.role, PolicyDocument=trust)


def set_policy(aws: Aws, names: Names, policy: str) -> None:
    """Write our inline policy; writing the same again changes nothing."""
    aws.call("iam", "PutRolePolicy", RoleName=names.role, PolicyName=POLICY_NAME, PolicyDocument=policy)


def delete(aws: Aws, names: Names) -> bool:
    """Take off every policy, also those that somebody attached by hand, and delete the role. False when it was gone."""
    role = names.role
    inline = aws.call_unless("not_found", "iam", "ListRolePolicies", RoleName=role) or {}
    for name in inline.get("PolicyNames", ()):
        aws.call_unless("not_found", "iam", "DeleteRolePolicy", RoleName=role, PolicyName=name)
    attached = aws.call_unless("not_found", "iam", "ListAttachedRolePolicies", RoleName=role) or {}
    for policy in attached.get("AttachedPolicies", ()):
        aws.call_unless("not_found", "iam", "DetachRolePolicy", RoleName=role, PolicyArn=policy["PolicyArn"])
    return aws.call_unless("not_found", "iam", "DeleteRole", RoleName=role) is not None


def _policy(aws: Aws, names: Names) -> str | None:
    answer = aws.call_unless("not_found", "iam", "GetRolePolicy", RoleName=names.role, PolicyName=POLICY_NAME)
    return None if answer is None else canonical(answer["PolicyDocument"])
