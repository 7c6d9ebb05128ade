"""IAM in China refuses documents written for the global partition (E12).

What is refused comes from issue reports (terraform-aws-eks 1904 and 2932); the wording is ours. A policy that names
only one of EC2's two principals under iam:PassedToService is taken, as IAM takes it: it fails when a role is passed.
"""

from __future__ import annotations

from urllib.parse import unquote

from deployer.rehearsal.fidelity.call import Call, Proceed, Refusal, Reply
from deployer.rehearsal.fidelity.regional import global_partition, partition_of

#: Services that exist in China under their global principal only.
GLOBAL_PRINCIPALS = ("eks", "sqs", "events")


def partition_guard(call: Call, proceed: Proceed) -> Reply:
    """The rule."""
    if call.service == "iam":
        for name, text in call.form.items():
            if name.endswith("PolicyDocument"):
                _check(unquote(text), call.region)
    return proceed(call)


def _check(document: str, region: str) -> None:
    here, elsewhere = partition_of(region), global_partition()
    if here.name == elsewhere.name:
        return
    if f"arn:{elsewhere.name}:" in document:
        raise Refusal("MalformedPolicyDocument", f'Partition "{elsewhere.name}" is not valid for resource ARNs here.')
    for service in GLOBAL_PRINCIPALS:
        principal = f"{service}.{here.dns_suffix}"
        if f'"{principal}"' in document:
            raise Refusal("MalformedPolicyDocument", f'Invalid principal in policy: "SERVICE":"{principal}"')
