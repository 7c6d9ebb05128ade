from __future__ import annotations

import dataclasses
import re

import pytest

from deployer.catalog import partition as partitions
from deployer.catalog.types import Partition


def china() -> Partition:
    found = partitions.lookup("aws-cn")
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("region", "name"),
    [("cn-northwest-1", "aws-cn"), ("cn-north-1", "aws-cn"), ("us-east-1", "aws"), ("ap-southeast-1", "aws")],
)
def test_regions(region: str, name: str) -> None:
    found = partitions.for_region(region)
    assert found is not None
    assert found.name == name


@pytest.mark.parametrize(
    "region", ["", "cn-northwest", "cn-northwest-1a", "us-gov-west-1", "xx-east-1", "cn-north-1\n"]
)
def test_no_region(region: str) -> None:
    assert partitions.for_region(region) is None


def test_known_regions_are_known() -> None:
    assert all(partitions.for_region(region) for region in partitions.known_regions())


def test_ec2_principals_in_china() -> None:
    # terraform-aws-eks#3190: PassedToService needs both, the trust policy the Chinese one.
    assert set(partitions.principals(china(), "ec2")) == {"ec2.amazonaws.com", "ec2.amazonaws.com.cn"}
    assert partitions.trust_principal(china(), "ec2") == "ec2.amazonaws.com.cn"


@pytest.mark.parametrize("service", ["eks", "sqs", "events", "ecs-tasks", "sagemaker"])
def test_no_blanket_suffix(service: str) -> None:
    assert partitions.principals(china(), service) == (f"{service}.amazonaws.com",)


def test_an_unknown_principal_is_never_guessed() -> None:
    with pytest.raises(KeyError):
        partitions.trust_principal(china(), "bedrock")


@pytest.mark.parametrize(
    ("service", "region", "url"),
    [
        ("ec2", "cn-northwest-1", "https://ec2.cn-northwest-1.amazonaws.com.cn"),
        ("ssm", "cn-north-1", "https://ssm.cn-north-1.amazonaws.com.cn"),
        ("iam", "cn-northwest-1", "https://iam.cn-north-1.amazonaws.com.cn"),
        ("ecr", "cn-northwest-1", "https://api.ecr.cn-northwest-1.amazonaws.com.cn"),
        ("pricing", "cn-north-1", "https://api.pricing.cn-northwest-1.amazonaws.com.cn"),
    ],
)
def test_endpoints(service: str, region: str, url: str) -> None:
    assert partitions.endpoint(china(), service, region) == url


def test_arn() -> None:
    assert partitions.arn(china(), "iam", "", "1", "role/x") == "arn:aws-cn:iam::1:role/x"
    assert partitions.arn(china(), "ssm", "cn-north-1", "1", "parameter/a") == "arn:aws-cn:ssm:cn-north-1:1:parameter/a"


@pytest.mark.parametrize("architecture", ["arm64", "x86_64"])
@pytest.mark.parametrize("gpu", [False, True])
def test_image_candidates(architecture: str, gpu: bool) -> None:
    candidates = partitions.ami_parameters(architecture, gpu)  # type: ignore[arg-type]
    assert candidates[-1].description == "Amazon Linux 2023"
    assert len(candidates) == (4 if gpu else 1)
    for name in ("aws-cn", "aws"):
        partition = partitions.lookup(name)
        assert partition is not None
        assert all(candidate.owner_key in partition.image_owners for candidate in candidates)
    assert all(candidate.parameter_name.startswith("/aws/service/") for candidate in candidates)
    assert "{" not in "".join(candidate.parameter_name + candidate.name_glob for candidate in candidates)


@pytest.mark.parametrize("name", ["aws-cn", "aws"])
def test_sane(name: str) -> None:
    partition = partitions.lookup(name)
    assert partition is not None
    assert dataclasses.asdict(partition)["name"] == name
    assert partition.console_url.format(region="r").startswith("https://r.console.")
    assert re.fullmatch(partition.region_pattern, partition.iam_region)
    assert all(owner == "amazon" or re.fullmatch(r"\d{12}", owner) for owner in partition.image_owners.values())


def test_blocked_ports() -> None:
    assert china().blocked_public_ports == (80, 443, 8080)
    assert partitions.lookup("nowhere") is None
