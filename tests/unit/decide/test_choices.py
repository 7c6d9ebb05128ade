from __future__ import annotations

import pytest

from deployer.catalog import hardware as catalogue
from deployer.decide.decide import KnownFile, decide, refuse_if_unfit
from deployer.engine.gguf import read_header
from deployer.errors import RefusedError
from tests.unit.decide.helpers import EC2, LOCAL, decided, load, settings, why
from tests.unit.engine.helpers import gguf, stream

OWN = """\
name: a
target: ec2
instance:
  type: g5.xlarge
model:
  source: https://files.example/gguf
  file: some.gguf
"""


def test_weights_come_from_modelscope() -> None:
    (source,) = decided().weights.sources
    assert source.kind == "modelscope"
    repo = "unsloth/Qwen3.6-27B-MTP-GGUF"
    assert source.url == f"https://modelscope.cn/models/{repo}/resolve/master/Qwen3.6-27B-Q4_K_M.gguf"
    assert source.listing_url == f"https://modelscope.cn/api/v1/models/{repo}/repo/files?Revision=master&Recursive=true"
    assert source.listing_path == "Qwen3.6-27B-Q4_K_M.gguf"


def test_a_mirror_replaces_the_hub() -> None:
    here = settings({"DEPLOYER_MIRROR_MODELSCOPE": "http://127.0.0.1:9/"})
    (source,) = decide(load(), here).weights.sources
    assert source.url.startswith("http://127.0.0.1:9/models/")
    assert (source.listing_url or "").startswith("http://127.0.0.1:9/api/")


def test_a_second_hub_only_when_pinned() -> None:
    deployment = decided(model__sha256="a" * 64, model__revision="v1.0")
    first, second = deployment.weights.sources
    assert "/resolve/v1.0/" in first.url
    assert second.url == "https://hf-mirror.com/unsloth/Qwen3.6-27B-MTP-GGUF/resolve/v1.0/Qwen3.6-27B-Q4_K_M.gguf"
    assert why(deployment, "checksum").value == "a" * 64
    assert why(decided(), "checksum").value is None


@pytest.mark.parametrize(
    ("source", "url", "kind"),
    [
        (
            "s3://models/qwen",
            "https://models.s3.cn-northwest-1.amazonaws.com.cn/qwen/Qwen3.6-27B-Q4_K_M.gguf",
            "s3",
        ),
        ("s3://models", "https://models.s3.cn-northwest-1.amazonaws.com.cn/Qwen3.6-27B-Q4_K_M.gguf", "s3"),
        (
            "s3://my.models/a b/",
            "https://s3.cn-northwest-1.amazonaws.com.cn/my.models/a%20b/Qwen3.6-27B-Q4_K_M.gguf",
            "s3",
        ),
        ("https://h.example/d/", "https://h.example/d/Qwen3.6-27B-Q4_K_M.gguf", "https"),
        ("https://h.example/d/Qwen3.6-27B-Q4_K_M.gguf", "https://h.example/d/Qwen3.6-27B-Q4_K_M.gguf", "https"),
        ("file:///opt/my models", "file:///opt/my%20models/Qwen3.6-27B-Q4_K_M.gguf", "file"),
    ],
)
def test_places(source: str, url: str, kind: str) -> None:
    (found,) = decided(model__source=source).weights.sources
    assert (found.url, found.kind) == (url, kind)


def test_a_copy_elsewhere_has_the_facts_but_no_known_head() -> None:
    deployment = decided(model__source="s3://models/qwen")
    assert deployment.weights.mtp_head is None
    assert deployment.weights.facts is not None
    assert not deployment.engine.mtp.enabled
    assert why(deployment, "mtp").alternative == "model.mtp_head: true, or engine.mtp: on"
    assert decided(model__source="s3://models/qwen", model__mtp_head="true").engine.mtp.enabled


def test_the_catalogue_recognises_its_repositories() -> None:
    trunk = decided(model__source="modelscope://unsloth/Qwen3.6-27B-GGUF")
    assert trunk.weights.mtp_head is False
    by_file = decided(
        OWN, model__source="modelscope://unsloth/Qwen3.6-27B-MTP-GGUF", model__file="Qwen3.6-27B-Q4_K_M.gguf"
    )
    assert by_file.weights.mtp_head is True
    assert by_file.weights.facts is not None
    assert by_file.engine.alias == "qwen3.6-27b"


def test_an_unknown_file() -> None:
    deployment = decided(OWN)
    assert deployment.weights.facts is None
    assert deployment.engine.alias == "some"
    assert deployment.memory.fits
    assert "not known" in why(deployment, "memory").reason
    assert not deployment.engine.mtp.enabled


def test_on_with_an_unknown_head_warns() -> None:
    deployment = decided(OWN, engine__mtp="on")
    assert deployment.engine.mtp.enabled
    assert why(deployment, "mtp_head").value == "unknown"


def test_on_without_a_head_is_refused() -> None:
    with pytest.raises(RefusedError) as refused:
        decided(engine__mtp="on", model__quant="IQ4_XS")
    assert refused.value.exit_code == 3
    assert (refused.value.where or "").startswith("stacks/a.yaml:")
    assert "MTP" in (refused.value.hint or "")


def test_the_header_beats_everything() -> None:
    header = read_header(stream(gguf()))
    deployment = decided(OWN, known_file=KnownFile(header, 40 << 30))
    assert deployment.weights.mtp_head is True
    assert deployment.weights.size_exact
    assert deployment.engine.mtp.enabled
    with pytest.raises(RefusedError):
        refuse_if_unfit(deployment)


def test_local_is_a_process_on_loopback() -> None:
    deployment = decided(LOCAL)
    assert deployment.engine.runtime == "process"
    assert deployment.engine.image is None
    assert deployment.engine.host == "127.0.0.1"
    assert deployment.partition is None
    assert deployment.root_volume_gib == 0
    assert deployment.ssh_user == ""


def test_local_needs_hardware() -> None:
    with pytest.raises(ValueError, match="hardware"):
        decide(load(LOCAL), settings())


def test_local_s3_takes_the_region_of_the_command_line() -> None:
    here = catalogue.lookup("c7i.4xlarge")
    deployment = decide(load(LOCAL, model__source="s3://bkt/p"), settings(region="cn-north-1"), hardware=here)
    assert deployment.weights.sources[0].url.startswith("https://bkt.s3.cn-north-1.")


@pytest.mark.parametrize(
    ("overrides", "host"),
    [
        ({}, "127.0.0.1"),
        ({"endpoint__expose": "private", "endpoint__allow": "[10.0.0.0/8]"}, "0.0.0.0"),
        ({"endpoint__expose": "public", "endpoint__allow": "[1.2.3.4/32]"}, "0.0.0.0"),
    ],
)
def test_host(overrides: dict[str, str], host: str) -> None:
    deployment = decided(**overrides)
    assert deployment.engine.host == host
    assert deployment.engine.argv[:2] == ("--host", host)


def test_a_doubtful_port_is_said() -> None:
    public = {"endpoint__expose": "public", "endpoint__allow": "[1.2.3.4/32]", "endpoint__port": "8443"}
    assert why(decided(**public), "port").reason.startswith("warning")
    assert not [d for d in decided(**public, region="us-east-1").decisions if d.name == "port"]


@pytest.mark.parametrize(
    ("instance", "model", "size", "gib"),
    [
        ("g5.xlarge", "Qwen3.6-27B", "auto", 100),
        ("c8g.4xlarge", "Qwen3.6-35B-A3B", "auto", 40),
        ("g6e.xlarge", "Qwen3.6-35B-A3B", "200", 200),
    ],
)
def test_root_volume(instance: str, model: str, size: str, gib: int) -> None:
    overrides = {"instance__type": instance, "model__name": model, "instance__root_volume__size_gib": size}
    assert decided(**overrides).root_volume_gib == gib


@pytest.mark.parametrize(
    ("instance", "first", "gpu"),
    [
        ("g5.xlarge", "/aws/service/deeplearning/", True),
        ("c8g.4xlarge", "/aws/service/ami-amazon-linux-latest/", False),
    ],
)
def test_image_chain(instance: str, first: str, gpu: bool) -> None:
    decision = why(decided(instance__type=instance), "ami")
    assert str(decision.value).startswith(first)
    assert ("ECS" in (decision.alternative or "")) is gpu
    assert why(decided(instance__ami="ami-0123456789abcdef0"), "ami").source == "spec"


def test_flash_attention() -> None:
    assert "on" in _flag(decided(), "-fa")
    assert "auto" in _flag(decided(instance__type="c8g.4xlarge"), "-fa")
    assert "on" in _flag(decided(instance__type="c8g.4xlarge", engine__cache_type_v="q8_0"), "-fa")
    assert "off" in _flag(decided(engine__flash_attention="off"), "-fa")


def test_an_image_of_ones_own() -> None:
    assert decided(engine__image="r.example/llama:1").engine.image == "r.example/llama:1"
    assert decided(engine__runtime="process").engine.image is None


def test_a_fallback_can_be_decided_for() -> None:
    loaded = load(EC2, instance__fallbacks="[g5.2xlarge]")
    deployment = decide(loaded, settings(), hardware=catalogue.lookup("g5.2xlarge"))
    assert deployment.hardware.name == "g5.2xlarge"
    assert deployment.engine.threads == 4


def test_deciding_twice_is_the_same() -> None:
    assert decided() == decided()


def _flag(deployment: object, name: str) -> tuple[str, ...]:
    argv = deployment.engine.argv  # type: ignore[attr-defined]
    return (argv[argv.index(name) + 1],)
