"""Which container image an instance gets: own ECR, then AWS's, then a refusal before anything costs money."""

from __future__ import annotations

import base64
import gzip
import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import boto3
import pytest

from deployer.aws import ecr
from deployer.decide.engine import image_tag
from deployer.decide.types import Deployment
from deployer.reconcile import engine_image
from deployer.rehearsal.cloud import REGION

if TYPE_CHECKING:
    from tests.cloud.ec2.conftest import Operator

REPOSITORY = "deployer/llama-cpp"
AWS_ACCOUNT = "727897471807"
DIGEST = "sha256:" + "ab" * 32


def stack(operator: Operator, kind: str = "g5.xlarge", **engine: Any) -> Deployment:
    return operator.parsed(
        {
            "name": "demo", "target": "ec2", "region": REGION, "instance": {"type": kind},
            "model": {"name": "Qwen3.6-27B", "quant": "Q4_K_M"}, "engine": {"context": 4096, **engine},
            "endpoint": {"expose": "tunnel", "port": 18080},
        }
    )  # fmt: skip


def client(operator: Operator) -> Any:
    return boto3.Session().client("ecr", region_name=REGION, endpoint_url=operator.cloud.url)


def put(operator: Operator, tag: str, *, digest: str = DIGEST, repository: str = REPOSITORY) -> None:
    """An image in the operator's own ECR."""
    try:
        client(operator).create_repository(repositoryName=repository)
    except client(operator).exceptions.RepositoryAlreadyExistsException:
        pass
    manifest = {"schemaVersion": 2, "mediaType": "application/vnd.docker.distribution.manifest.v2+json"}
    manifest |= {"config": {"size": 3, "digest": DIGEST, "mediaType": "x"}, "layers": [{"size": 5, "digest": digest}]}
    client(operator).put_image(
        repositoryName=repository, imageManifest=json.dumps(manifest), imageTag=tag, imageDigest=digest
    )


def own(operator: Operator, deployment: Deployment) -> str:
    tag = image_tag(deployment.engine.build, deployment.engine.dialect)
    put(operator, tag)
    account = operator.cloud.world.account
    return f"{account}.dkr.ecr.{REGION}.amazonaws.com.cn/{REPOSITORY}:{tag}@{DIGEST}"


def reasons(deployment: Deployment) -> dict[str, tuple[Any, str]]:
    return {decision.name: (decision.value, decision.reason) for decision in deployment.decisions}


def calls(operator: Operator) -> list[str]:
    return [f"{call['service']}:{call['operation']}" for call in operator.cloud.record.calls()]


def test_nothing_is_named_before_aws_was_asked(operator: Operator) -> None:
    deployment = stack(operator)
    assert deployment.engine.image is None
    assert "in the account's ECR (looked up by up)" in reasons(deployment)["image"][0]


def test_the_accounts_own_image_by_its_digest(operator: Operator) -> None:
    deployment = stack(operator)
    image = own(operator, deployment)
    resolved = operator.target().resolved(deployment)
    assert resolved.engine.image == image
    assert reasons(resolved)["image"][0] == image
    assert reasons(resolved)["image in own ECR"] == (image, "it is there")
    assert "image of AWS" not in reasons(resolved)
    assert operator.target().resolved(resolved) is resolved


def test_it_reaches_the_instance_its_role_and_the_launch_digest(operator: Operator) -> None:
    deployment = stack(operator)
    image = own(operator, deployment)
    operator.target().up(deployment)
    account = operator.cloud.world.account
    iam = boto3.Session().client("iam", endpoint_url=operator.cloud.url, region_name="cn-north-1")
    policy = iam.get_role_policy(RoleName=f"deployer-demo-role-{REGION}", PolicyName="deployer")["PolicyDocument"]
    allowed = {str(one["Action"]): one["Resource"] for one in policy["Statement"]}
    assert allowed["ecr:GetAuthorizationToken"] == "*"
    pull = "['ecr:BatchCheckLayerAvailability', 'ecr:BatchGetImage', 'ecr:GetDownloadUrlForLayer']"
    assert allowed[pull] == f"arn:aws-cn:ecr:{REGION}:{account}:repository/{REPOSITORY}"
    assert image in sent_user_data(operator)
    told = [one for one in operator.named("decision") if one["name"] == "image"]
    assert [one["value"] for one in told] == [image]
    assert operator.target().up(deployment).changes == 0


def sent_user_data(operator: Operator) -> str:
    ec2 = boto3.Session().client("ec2", endpoint_url=operator.cloud.url, region_name=REGION)
    (one,) = operator.instances()
    answer = ec2.describe_instance_attribute(InstanceId=one["InstanceId"], Attribute="userData")
    return gzip.decompress(base64.b64decode(answer["UserData"]["Value"])).decode()


def test_another_image_is_another_instance(operator: Operator) -> None:
    deployment = stack(operator)
    own(operator, deployment)
    operator.target().up(deployment)
    (before,) = operator.instances()
    tag = image_tag(deployment.engine.build, deployment.engine.dialect)
    client(operator).batch_delete_image(repositoryName=REPOSITORY, imageIds=[{"imageTag": tag}])
    put(operator, tag, digest="sha256:" + "cd" * 32)
    operator.target().up(deployment)
    (after,) = operator.instances()
    assert after["InstanceId"] != before["InstanceId"]


def test_awss_container_comes_next(operator: Operator, monkeypatch: pytest.MonkeyPatch) -> None:
    deployment = stack(operator)
    # moto has one account's registry; the question to AWS's is answered from a repository of the same name here.
    put(operator, "server-cuda-v1", repository="llama-cpp")
    real, asked = ecr.probe, []

    def here(aws: Any, image: Any) -> ecr.Probe:
        asked.append(str(image))
        account = operator.cloud.world.account if image.account == AWS_ACCOUNT else image.account
        found = real(aws, replace(image, account=account))
        return replace(found, asked=image, found=found.found and image.pinned(str(found.found.digest)))

    monkeypatch.setattr(engine_image.ecr, "probe", here)
    resolved = operator.target().resolved(deployment)
    host = f"{AWS_ACCOUNT}.dkr.ecr.{REGION}.amazonaws.com.cn"
    assert asked[1] == f"{host}/llama-cpp:server-cuda-v1"
    assert resolved.engine.image == f"{host}/llama-cpp:server-cuda-v1@{DIGEST}"
    assert reasons(resolved)["image in own ECR"][1] == "there is no such repository"
    assert "b10433 or b10964" in reasons(resolved)["image"][1]


@pytest.mark.parametrize(
    ("kind", "theirs"), [("g5.xlarge", "llama-cpp:server-cuda-v1"), ("c8g.4xlarge", "llama-cpp-arm64:server-cpu-v1")]
)
def test_nowhere_is_refused_before_anything_is_made(operator: Operator, refused: Any, kind: str, theirs: str) -> None:
    deployment = stack(operator, kind)
    error = refused(lambda: operator.target().up(deployment))
    assert error.exit_code == 3
    assert "there is no such repository" in error.message
    assert f"{AWS_ACCOUNT}.dkr.ecr.{REGION}.amazonaws.com.cn/{theirs}" in error.message
    assert "deployer image build" in error.hint and "engine.image" in error.hint
    assert operator.resources() == []
    assert refused(lambda: operator.target().plan(deployment)).exit_code == 3


def test_a_repository_without_the_tag(operator: Operator, refused: Any) -> None:
    put(operator, "cuda-b1-00000000")
    error = refused(lambda: operator.target().up(stack(operator)))
    assert "the repository has no such tag" in error.message


def test_no_permission_to_look_is_told_as_that(operator: Operator, refused: Any) -> None:
    operator.fault(service="ecr", operation="BatchGetImage", code="AccessDeniedException", status=400, times=1)
    error = refused(lambda: operator.target().up(stack(operator)))
    assert "not allowed to look (AccessDeniedException)" in error.message


def test_an_ecr_that_fails_is_no_missing_image(operator: Operator, refused: Any) -> None:
    operator.fault(service="ecr", operation="BatchGetImage", code="ServerException", status=500, times=9)
    error = refused(lambda: operator.target().up(stack(operator)))
    assert error.exit_code == 1 and "ServerException" in error.message


def test_an_image_of_the_spec_is_used_as_it_is(operator: Operator) -> None:
    deployment = stack(operator, image="registry.example/llama:mine")
    operator.target().up(deployment)
    assert "ecr:BatchGetImage" not in calls(operator)
    assert "registry.example/llama:mine" in sent_user_data(operator)
    assert any("names no digest" in str(one["message"]) for one in operator.named("warning"))


def test_an_image_of_the_spec_with_a_digest_is_no_worry(operator: Operator) -> None:
    operator.target().up(stack(operator, image=f"registry.example/llama@{DIGEST}"))
    assert not [one for one in operator.named("warning") if "digest" in str(one["message"])]


def test_a_process_needs_none(operator: Operator) -> None:
    deployment = stack(operator, runtime="process")
    assert operator.target().resolved(deployment) is deployment


def test_the_accounts_copy_of_awss_container(operator: Operator) -> None:
    put(operator, "server-cuda-v1-x86-64", repository="deployer/mirror/deep-learning-containers/llama-cpp")
    decided = operator.target().resolved(stack(operator))
    place = f"{operator.cloud.world.account}.dkr.ecr.{REGION}.amazonaws.com.cn/deployer/mirror/deep-learning-containers"
    assert decided.engine.image == f"{place}/llama-cpp:server-cuda-v1-x86-64@{DIGEST}"
    assert "the account's copy" in next(one.reason for one in decided.decisions if one.name == "image")
