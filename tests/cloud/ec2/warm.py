"""boto3 with the service models read already: reading them is most of the time of a short command."""

from __future__ import annotations

from typing import Any

import boto3

from deployer.rehearsal.cloud import ACCESS_KEY, REGION, SECRET_KEY

session = boto3.Session(aws_access_key_id=ACCESS_KEY, aws_secret_access_key=SECRET_KEY)
for _service in ("ec2", "ssm", "iam", "sts", "ecr"):
    session.client(_service, region_name=REGION, endpoint_url="http://127.0.0.1:1")


def use() -> None:
    """Every session of this process is that one; its clients still take the endpoint of the environment."""
    made: Any = boto3
    made.Session = lambda **_options: session
