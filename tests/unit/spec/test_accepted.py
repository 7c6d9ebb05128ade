"""Specs that are right: values, defaults, paths and positions."""

from __future__ import annotations

from pathlib import Path

import pytest

from deployer.catalog.partition import for_region
from deployer.errors import SpecError
from deployer.spec.models import Ec2Stack, LocalStack
from deployer.spec.network import PrivateEndpoint, TunnelEndpoint
from tests.unit.spec.helpers import EC2, LOCAL, STACKS, load, mistakes


@pytest.mark.parametrize("path", STACKS, ids=lambda path: path.stem)
def test_ready_stacks(path: Path) -> None:
    loaded = load(path.read_text(), file=str(path))
    assert loaded.spec.name == path.stem
    assert loaded.file == str(path)


def test_six_ready_stacks() -> None:
    assert len(STACKS) == 6


def test_defaults() -> None:
    spec = load(EC2).spec
    assert isinstance(spec, Ec2Stack)
    assert spec.region == "cn-northwest-1"
    assert spec.endpoint == TunnelEndpoint()
    assert spec.engine.mtp.mode == "auto"
    assert spec.access.allow == "auto"


def test_words_a_field_knows_need_no_quotes() -> None:
    engine = load(EC2 + "engine: {mtp: off, flash_attention: on}\n").spec.engine
    assert (engine.mtp.mode, engine.flash_attention) == ("off", "on")


def test_endpoint_without_expose_is_a_tunnel() -> None:
    assert load(EC2 + "endpoint: {port: 9000}\n").spec.endpoint == TunnelEndpoint(port=9000)


def test_aliases_are_followed() -> None:
    spec = load(EC2 + "access: {allow: &nets [203.0.113.7]}\nendpoint: {expose: private, allow: *nets}\n").spec
    assert isinstance(spec, Ec2Stack)
    assert spec.endpoint == PrivateEndpoint(expose="private", allow=["203.0.113.7/32"])
    assert spec.access.allow == ["203.0.113.7/32"]


@pytest.mark.parametrize("region", ["us-east-1", "cn-north-1"])
def test_icp_ports_are_free_outside_china_or_when_filed(region: str) -> None:
    filed = "true" if region.startswith("cn-") else "false"
    text = EC2 + (
        f"region: {region}\nendpoint: {{expose: public, port: 443, allow: [203.0.113.0/24], icp_filed: {filed}}}\n"
    )
    assert load(text).spec.endpoint.port == 443


@pytest.mark.parametrize("port", [80, 443, 8080])
def test_icp_ports_are_those_of_the_catalogue(port: int) -> None:
    partition = for_region("cn-northwest-1")
    assert partition is not None
    assert port in partition.blocked_public_ports
    text = EC2 + f"endpoint: {{expose: public, port: {port}, allow: [203.0.113.0/24]}}\n"
    assert any(f"public port {port} is blocked in cn-northwest-1" in message for message in mistakes(text))


def test_8443_is_not_blocked() -> None:
    assert load(EC2 + "endpoint: {expose: public, port: 8443, allow: [203.0.113.0/24]}\n").spec.endpoint.port == 8443


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("file://models", "file:///specs/models"),
        ("file://./models/../tiny", "file:///specs/tiny"),
        ("file:///data/models", "file:///data/models"),
        ("file://~/models", "file:///home/op/models"),
        ("file://~", "file:///home/op"),
        ("modelscope://org/repo", "modelscope://org/repo"),
        ("s3://bucket/~/x", "s3://bucket/~/x"),
    ],
)
def test_file_sources_become_absolute(source: str, expected: str) -> None:
    assert load(LOCAL.replace("file://models", source), file="/specs/x.yaml").spec.model.source == expected


def test_relative_spec_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert load(LOCAL, file="stacks/x.yaml").spec.model.source == f"file://{tmp_path}/stacks/models"


def test_key_path_becomes_absolute() -> None:
    spec = load(EC2 + "access: {key: ~/.ssh/id_ed25519}\n").spec
    assert isinstance(spec, Ec2Stack)
    assert spec.access.key == "/home/op/.ssh/id_ed25519"


def test_name_with_another_source() -> None:
    model = load(EC2.replace("{name: Qwen3.6-27B}", "{name: Qwen3.6-27B, source: 's3://bucket/models'}")).spec.model
    assert (model.name, model.source, model.file) == ("Qwen3.6-27B", "s3://bucket/models", None)


def test_subnet_without_vpc() -> None:
    spec = load(EC2 + "network: {subnet: subnet-0123456789abcdef0}\n").spec
    assert isinstance(spec, Ec2Stack)
    assert spec.network.vpc is None


def test_harmless_extra_arguments() -> None:
    arguments = ["--metrics", "--cache-ram", "0", "--temp", "-0.5", "--load-mode", "mmap", "-ub", "256"]
    arguments += ["--chat-template", "a = b -c"]
    assert load(EC2 + f"engine: {{extra_args: {arguments}}}\n".replace("'", '"')).spec.engine.extra_args == arguments


def test_locate_and_error() -> None:
    loaded = load(EC2 + "engine:\n  context: 4096\n")
    assert loaded.locate("instance", "type") == (3, 18)
    assert loaded.locate("engine", "context") == (6, 12)
    assert loaded.locate("engine", "parallel") == (5, 1)
    assert loaded.locate("lifetime", "ttl") == (1, 1)
    assert loaded.locate() == (1, 1)
    error = loaded.error(("model", "name"), "is not in the catalogue", "deployer models")
    assert isinstance(error, SpecError)
    assert str(error) == "stacks/x.yaml:4:15: model.name: is not in the catalogue"
    assert error.hint == "deployer models"


def test_local_target() -> None:
    assert isinstance(load(LOCAL).spec, LocalStack)
