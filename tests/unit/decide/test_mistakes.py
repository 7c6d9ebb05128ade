from __future__ import annotations

import pytest

from deployer.errors import SpecError
from tests.unit.decide.helpers import EC2, decided


def problems(text: str = EC2, **overrides: str) -> list[str]:
    with pytest.raises(SpecError) as raised:
        decided(text, **overrides)
    assert raised.value.exit_code == 2
    return [str(diagnostic) for diagnostic in raised.value.diagnostics]


def test_the_place_is_the_value() -> None:
    (message,) = problems(EC2.replace("g5.xlarge", "g5.xlrge"))
    assert message == 'stacks/a.yaml:4:9: instance.type: unknown instance type "g5.xlrge" — did you mean "g5.xlarge"?'


@pytest.mark.parametrize(
    ("overrides", "expected"),
    [
        ({"instance__type": "p4d.24xlarge"}, 'instance.type: unknown instance type "p4d.24xlarge"'),
        ({"model__name": "Qwen3.6-27b"}, 'model.name: unknown model "Qwen3.6-27b" — did you mean "Qwen3.6-27B"?'),
        ({"model__quant": "Q4_KM"}, 'model.quant: Qwen3.6-27B has no quantisation "Q4_KM" — did you mean "Q4_K_M"?'),
        ({"region": "xx-north-1"}, 'region: no AWS partition has a region "xx-north-1"'),
        ({"engine__build": "graviton"}, "engine.build: the graviton build cannot run here: g5.xlarge is x86_64"),
        ({"engine__build": "avx512"}, "engine.build: the avx512 build cannot run here: AMD EPYC 7R32 (Rome) has no"),
        ({"engine__context": "300000"}, "engine.context: the model was trained for 262144 tokens"),
        ({"engine__extra_args": "[--mmapp]"}, "does not know --mmapp"),
        ({"engine__extra_args": "[--temp, warm, extra]"}, "'extra' is a value without a flag"),
        ({"instance__fallbacks": "[c8g.4xlarge]"}, "instance.fallbacks[0]: c8g.4xlarge runs the graviton build"),
        ({"instance__fallbacks": "[g5.99xlarge]"}, 'instance.fallbacks[0]: unknown instance type "g5.99xlarge"'),
        (
            {"instance__type": "g6e.xlarge", "instance__fallbacks": "[g6.xlarge]", "engine__context": "200000"},
            "instance.fallbacks[0]: g6.xlarge cannot hold this stack: it needs",
        ),
        ({"instance__fallbacks": "[g4dn.xlarge]"}, "g4dn.xlarge: its T4 is older than A10G and cannot run"),
        ({"instance__root_volume__size_gib": "20"}, "instance.root_volume.size_gib: 20 GiB cannot hold weights (16)"),
        ({"model__source": "modelscope://just-a-name"}, "is not of the form modelscope://ORG/REPO"),
        ({"model__source": "s3://Bad_Bucket/x"}, '"Bad_Bucket" is not a bucket name'),
    ],
)
def test_located(overrides: dict[str, str], expected: str) -> None:
    found = problems(**overrides)
    assert any(expected in message for message in found), found


def test_independent_mistakes_are_told_together() -> None:
    names = problems(
        instance__type="g5.huge", model__name="Qwen", region="zz-a-1", engine__contxt="1", instance__fallbacks="[g5.9]"
    )
    assert len(names) == 5
    choices = problems(engine__build="graviton", engine__context="300000", instance__fallbacks="[c8g.4xlarge]")
    assert len(choices) == 3


def test_more_context_with_scaling_is_accepted() -> None:
    arguments = "[--rope-scaling, yarn, --rope-scale, '4']"
    assert decided(engine__context="300000", engine__extra_args=arguments).engine.context == 300000


def test_a_fallback_with_fewer_cpu_features_is_refused() -> None:
    found = problems(instance__type="c8g.4xlarge", model__name="Qwen3.6-35B-A3B", instance__fallbacks="[c7g.4xlarge]")
    assert any("lacks sve2" in message for message in found)


def test_tensor_split_with_mtp() -> None:
    assert decided(engine__extra_args="[-sm, tensor]", engine__mtp="off")
    assert decided(engine__extra_args="[-sm, layer]")
    (message,) = problems(engine__extra_args="[--metrics, -sm, tensor]")
    assert "engine.extra_args[1]: `-sm tensor` crashes with MTP; use layer, or set engine.mtp: off" in message


@pytest.mark.parametrize("arguments", ["[--nope]", "['--seed=1']", "[--port, '1']", "[--mlock]", "[-fa, maybe]"])
def test_an_argument_is_refused_once(arguments: str) -> None:
    assert len(problems(engine__extra_args=arguments)) == 1
