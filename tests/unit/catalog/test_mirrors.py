from __future__ import annotations

import pytest

from deployer.catalog import mirrors
from deployer.catalog.closest import did_you_mean


def test_an_override_wins() -> None:
    assert mirrors.base_url("modelscope", {"modelscope": "http://127.0.0.1:1/"}) == "http://127.0.0.1:1"
    assert mirrors.base_url("modelscope", {}) == "https://modelscope.cn"


def test_the_second_hub_differs_by_partition() -> None:
    assert mirrors.base_url("hf", {}, "aws-cn") != mirrors.base_url("hf", {}, "aws")


def test_hosts() -> None:
    assert mirrors.host("docker-ce", {}).endswith("/docker-ce")
    assert mirrors.host("docker-ce", {"docker_ce": "https://own.example/d/"}) == "https://own.example/d"


def test_unknown() -> None:
    with pytest.raises(KeyError):
        mirrors.base_url("other", {})


def test_did_you_mean() -> None:
    assert did_you_mean("g5.xlrge", ["g5.xlarge", "g6.xlarge"]) == ' — did you mean "g5.xlarge"?'
    assert did_you_mean("banana", ["g5.xlarge"]) == ""
