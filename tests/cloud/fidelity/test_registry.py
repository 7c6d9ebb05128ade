"""ECR's registries have the host names of their partition; moto writes those of the global one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def test_registries_are_in_china(boto: Callable[..., Any], account: str) -> None:
    ecr = boto("ecr")
    made = ecr.create_repository(repositoryName="deployer/llama-cpp")["repository"]
    host = f"{account}.dkr.ecr.cn-northwest-1.amazonaws.com.cn"
    assert made["repositoryUri"] == f"{host}/deployer/llama-cpp"
    assert made["repositoryArn"].startswith("arn:aws-cn:ecr:cn-northwest-1:")
    (login,) = ecr.get_authorization_token()["authorizationData"]
    assert login["proxyEndpoint"] == f"https://{host}"


def test_moto_itself_writes_the_global_name(plain_moto: Callable[[str], Any]) -> None:
    made = plain_moto("ecr").create_repository(repositoryName="engines")["repository"]
    assert ".amazonaws.com/" in made["repositoryUri"]
