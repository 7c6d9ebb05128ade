"""What `up` and `down` ask of AWS and how long that takes, beside the same things made by plain boto3 code.

Run it as `.venv/bin/python bench/launch.py [--call-ms N]`. The embedded AWS answers every call that much later; the
instance needs no time to start or end, and nobody looks whether an engine serves.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import secrets
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from deployer.access.keys import ensure_private_key
from deployer.aws.names import Names
from deployer.aws.resources.role import canonical, policy_document, trust_document
from deployer.catalog import partition as partitions
from deployer.clock import SystemClock
from deployer.decide.decide import decide
from deployer.events import ignore
from deployer.rehearsal.cloud import ACCOUNT, REGION, Cloud
from deployer.rehearsal.fidelity.options import Options
from deployer.render.program import part_names, program
from deployer.settings import Settings
from deployer.spec.load import parse_spec
from deployer.targets.ec2 import Ec2Target

SPEC = """
name: bench
target: ec2
region: cn-northwest-1
instance: {type: g5.xlarge}
model: {name: Qwen3.6-27B, quant: Q4_K_M}
engine: {runtime: process, context: 4096}
endpoint: {expose: tunnel}
"""


def chain(calls: list[dict[str, Any]]) -> int:
    """The most calls of which each began after the one before had its answer: no more of them can be in a row."""
    count, free_at = 0, 0.0
    for call in sorted(calls, key=lambda call: call["started"] + call["seconds"]):
        if call["started"] >= free_at:
            count, free_at = count + 1, call["started"] + call["seconds"]
    return count


class Straight:
    """The same resources, one call after the other, no record, no lease, no look before."""

    def __init__(self, home: Path) -> None:
        import boto3

        self._ec2, self._ssm, self._iam = (boto3.client(name, region_name=REGION) for name in ("ec2", "ssm", "iam"))
        self._names = Names("plain", REGION)
        self._public_key = ensure_private_key(home / "plain-key")
        self._parameters = [self._names.api_key, *part_names(self._names.programs, program())]
        self._group = self._instance = ""

    def up(self) -> None:
        """Make them, and ask for the instance until the profile is known."""
        names, ec2, iam = self._names, self._ec2, self._iam
        self._ssm.put_parameter(Name=names.api_key, Value=secrets.token_hex(32), Type="SecureString")
        for name, value in part_names(names.programs, program()).items():
            self._ssm.put_parameter(Name=name, Value=value, Type="String")
        ec2.import_key_pair(KeyName=names.key_pair, PublicKeyMaterial=self._public_key.encode())
        vpc = ec2.describe_vpcs(Filters=[{"Name": "is-default", "Values": ["true"]}])["Vpcs"][0]["VpcId"]
        made = ec2.create_security_group(GroupName=names.security_group, Description="plain", VpcId=vpc)
        self._group = made["GroupId"]
        ec2.authorize_security_group_ingress(
            GroupId=self._group, IpProtocol="tcp", FromPort=22, ToPort=22, CidrIp="203.0.113.7/32"
        )
        partition = partitions.for_region(REGION)
        assert partition is not None
        trust = canonical(trust_document(partition))
        policy = canonical(policy_document(partition, REGION, ACCOUNT, names, None))
        iam.create_role(RoleName=names.role, AssumeRolePolicyDocument=trust)
        iam.put_role_policy(RoleName=names.role, PolicyName="plain", PolicyDocument=policy)
        iam.create_instance_profile(InstanceProfileName=names.instance_profile)
        iam.add_role_to_instance_profile(InstanceProfileName=names.instance_profile, RoleName=names.role)
        image = ec2.describe_images(Filters=[{"Name": "architecture", "Values": ["x86_64"]}])["Images"][0]["ImageId"]
        answer = ec2.run_instances(
            ImageId=image,
            InstanceType="g5.xlarge",
            MinCount=1,
            MaxCount=1,
            KeyName=names.key_pair,
            SecurityGroupIds=[self._group],
            IamInstanceProfile={"Name": names.instance_profile},
        )
        self._instance = answer["Instances"][0]["InstanceId"]

    def down(self) -> None:
        """Delete them in reverse; the end of the instance is waited for, as the group needs it."""
        names, ec2, iam = self._names, self._ec2, self._iam
        ec2.terminate_instances(InstanceIds=[self._instance])
        ec2.get_waiter("instance_terminated").wait(InstanceIds=[self._instance], WaiterConfig={"Delay": 1})
        iam.remove_role_from_instance_profile(InstanceProfileName=names.instance_profile, RoleName=names.role)
        iam.delete_instance_profile(InstanceProfileName=names.instance_profile)
        iam.delete_role_policy(RoleName=names.role, PolicyName="plain")
        iam.delete_role(RoleName=names.role)
        ec2.delete_security_group(GroupId=self._group)
        ec2.delete_key_pair(KeyName=names.key_pair)
        self._ssm.delete_parameters(Names=self._parameters[:10])


def main() -> None:
    """Measure and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--call-ms", type=float, default=100.0)
    options = parser.parse_args()
    settled = Options(pending_seconds=0, shutting_down_seconds=0, stopping_seconds=0)
    with contextlib.closing(Cloud(options=settled)) as cloud, tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        os.environ.update(cloud.env() | {"DEPLOYER_HOME": folder, "DEPLOYER_MY_CIDR": "203.0.113.7/32"})
        settings = Settings.from_env(dict(os.environ))
        deployment = decide(parse_spec(SPEC, "bench.yaml", environ={}, overrides={}), settings)
        target = Ec2Target(settings, REGION, SystemClock(), ignore, verify=lambda *_: None)
        plain = Straight(home)
        # Once without a delay: what is loaded at the first call is no AWS time.
        runs: dict[str, Callable[[], object]] = {
            "deployer up": lambda: target.up(deployment),
            "deployer up, again": lambda: target.up(deployment),
            "deployer down": lambda: target.down("bench"),
            "boto3, made in a row": plain.up,
            "boto3, deleted in a row": plain.down,
        }
        for act in runs.values():
            act()
        cloud.world.options = settled.changed({"call_seconds": options.call_ms / 1000})
        print(
            f"{options.call_ms:.0f} ms added to each call\n\n| | calls | in a row at most | s |\n|---|---:|---:|---:|"
        )
        for name, act in runs.items():
            before, began = len(cloud.record.calls(0)), time.perf_counter()
            act()
            calls = cloud.record.calls(0)[before:]
            print(f"| {name} | {len(calls)} | {chain(calls)} | {time.perf_counter() - began:.1f} |")


if __name__ == "__main__":
    main()
