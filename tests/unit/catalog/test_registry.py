"""Names of images in ECR: taken apart, put together, and never one of a public registry by default."""

from __future__ import annotations

import pytest

from deployer.catalog import partition as partitions
from deployer.catalog import registry

CHINA = "cn-northwest-1"
DIGEST = "sha256:" + "0a" * 32


@pytest.mark.parametrize(
    "image",
    [
        "111122223333.dkr.ecr.cn-northwest-1.amazonaws.com.cn/deployer/llama-cpp",
        "111122223333.dkr.ecr.cn-northwest-1.amazonaws.com.cn/deployer/llama-cpp:cuda-b11549-01234567",
        f"111122223333.dkr.ecr.us-east-1.amazonaws.com/llama-cpp@{DIGEST}",
        f"111122223333.dkr.ecr.cn-north-1.amazonaws.com.cn/a/b.c:t@{DIGEST}",
    ],
)
def test_apart_and_together(image: str) -> None:
    found = registry.parse(image)
    assert found is not None and str(found) == image


@pytest.mark.parametrize(
    "image",
    ["deployer/llama-cpp:x", "docker.io/a/b", "1111.dkr.ecr.cn-north-1.amazonaws.com.cn/a", "ghcr.io/a/b:c", ""],
)
def test_no_image_of_ecr(image: str) -> None:
    assert registry.parse(image) is None


def test_the_repository_as_iam_names_it() -> None:
    image = registry.parse("111122223333.dkr.ecr.cn-north-1.amazonaws.com.cn/deployer/llama-cpp:x")
    assert image is not None
    assert image.arn() == "arn:aws-cn:ecr:cn-north-1:111122223333:repository/deployer/llama-cpp"


def test_a_pin_is_a_whole_digest() -> None:
    assert registry.is_pinned(f"a/b:c@{DIGEST}")
    assert not registry.is_pinned("a/b:c")
    assert not registry.is_pinned("a/b@sha256:00")


def test_the_tag_follows_every_flag() -> None:
    one = registry.recipe_tag("cuda", "b11549", ("-DA=1", "-DB=2"))
    assert one.startswith("cuda-b11549-")
    assert one != registry.recipe_tag("cuda", "b11549", ("-DA=1", "-DB=3"))
    assert one == registry.recipe_tag("cuda", "b11549", ("-DA=1", "-DB=2"))


@pytest.mark.parametrize(("architecture", "gpu", "there"), [("x86_64", True, True), ("arm64", True, False)])
def test_what_aws_may_offer(architecture: str, gpu: bool, there: bool) -> None:
    china = partitions.for_region(CHINA)
    assert china is not None
    image = registry.aws_image(china, CHINA, architecture, gpu=gpu)  # type: ignore[arg-type]
    assert (image is not None) is there
    assert image is None or str(image).startswith(f"727897471807.dkr.ecr.{CHINA}.amazonaws.com.cn/llama-cpp:")
