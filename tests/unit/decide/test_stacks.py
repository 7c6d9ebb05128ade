"""The ready stacks, and the cases that must fit or be refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from deployer.catalog import hardware as catalogue
from deployer.decide.decide import decide, refuse_if_unfit
from deployer.decide.types import Deployment
from deployer.engine.dialect import dialect, parse
from deployer.errors import RefusedError
from deployer.spec.load import load_spec
from tests.unit.decide.helpers import decided, settings, why

STACKS = sorted((Path(__file__).parents[3] / "stacks").glob("*.yaml"))


def image_of(deployment: Deployment) -> str:
    return next(str(decision.value) for decision in deployment.decisions if decision.name == "image")


def stack(name: str) -> Deployment:
    (path,) = [path for path in STACKS if path.stem == name]
    here = catalogue.lookup("c7i.large") if name.startswith("local") else None
    return decide(load_spec(path, settings()), settings(), hardware=here)


@pytest.mark.parametrize("name", [path.stem for path in STACKS])
def test_ready_stacks_fit_and_start(name: str) -> None:
    deployment = stack(name)
    refuse_if_unfit(deployment)
    _, problems = parse(deployment.engine.argv, dialect())
    assert problems == []
    assert len(deployment.spec_digest) == 16
    names = [decision.name for decision in deployment.decisions]
    assert len(names) == len(set(names))
    assert all(decision.reason and decision.source for decision in deployment.decisions)


@pytest.mark.parametrize(
    ("name", "build", "mtp", "threads", "context"),
    [
        ("g5-27b-mtp", "cuda", True, 2, 32768),
        ("c8g-35b-a3b", "graviton", False, 16, 32768),
        ("c8i-35b-a3b", "avx512", False, 8, 32768),
        ("c8i-27b-mtp", "avx512", True, 8, 16384),
        ("g6e-35b-a3b-mtp", "cuda", True, 2, 262144),
    ],
)
def test_what_the_stacks_become(name: str, build: str, mtp: bool, threads: int, context: int) -> None:
    deployment = stack(name)
    argv = deployment.engine.argv
    assert deployment.engine.build.name == build
    assert deployment.engine.mtp.enabled is mtp
    assert ("--spec-type" in argv) is mtp
    assert argv[argv.index("-t") + 1] == str(threads)
    assert argv[argv.index("-c") + 1] == str(context)
    assert deployment.engine.image is None
    assert f" deployer/llama-cpp:{build}-b11549-" in f" {image_of(deployment)}"
    assert deployment.weights.mtp_head is True
    assert deployment.partition is not None
    assert deployment.partition.name == "aws-cn"


def test_35b_on_24_gb_is_refused_with_numbers_and_a_way_out() -> None:
    deployment = decided(model__name="Qwen3.6-35B-A3B", model__quant="UD-Q4_K_XL")
    with pytest.raises(RefusedError) as refused:
        refuse_if_unfit(deployment)
    error = refused.value
    assert error.exit_code == 3
    assert "needs 23.6 GiB of VRAM, there are 22.4" in error.message
    assert "weights 21.28" in error.message
    assert error.hint == "nearest setting that fits: model.quant: UD-IQ4_XS"


@pytest.mark.parametrize(
    ("overrides", "setting"),
    [
        ({"engine__context": "65536"}, None),
        ({"engine__context": "98304"}, "engine.cache_type_k: q8_0 and engine.cache_type_v: q8_0"),
        (
            {"engine__context": "262144", "engine__cache_type_k": "q8_0", "engine__cache_type_v": "q8_0"},
            "engine.context: 65536",
        ),
        ({"engine__parallel": "16", "engine__context": "4096"}, "engine.parallel:"),
        ({"model__quant": "Q8_0"}, "model.quant: UD-Q4_K_XL"),
        ({"instance__type": "g4dn.xlarge"}, "model.quant: UD-IQ3_XXS"),
    ],
)
def test_nearest(overrides: dict[str, str], setting: str | None) -> None:
    fit = decided(**overrides).memory
    assert fit.fits is (setting is None)
    assert (fit.nearest or "").startswith(setting or "")


@pytest.mark.parametrize("text", ["g4dn.xlarge", "g5.xlarge", "g6.12xlarge", "c8g.2xlarge", "c7i.xlarge", "r8i.xlarge"])
@pytest.mark.parametrize("model", ["Qwen3.6-27B", "Qwen3.6-35B-A3B"])
@pytest.mark.parametrize("context", ["8192", "131072"])
def test_the_named_setting_really_fits(text: str, model: str, context: str) -> None:
    overrides = {"instance__type": text, "model__name": model, "engine__context": context, "engine__parallel": "2"}
    fit = decided(**overrides).memory
    if fit.fits or fit.nearest is None:
        return
    changed = dict(change.split(": ") for change in fit.nearest.split(" and "))
    again = decided(**{**overrides, **{key.replace(".", "__"): value for key, value in changed.items()}})
    assert again.memory.fits, fit.nearest


def test_host_memory_is_shared_out() -> None:
    deployment = decided(instance__type="c8g.4xlarge", model__name="Qwen3.6-35B-A3B")
    argv = deployment.engine.argv
    assert argv[argv.index("--cache-ram") + 1] == str(why(deployment, "prompt_cache_mib").value)
    spare = deployment.memory.have_bytes - deployment.memory.need_bytes
    cache = why(deployment, "prompt_cache_mib").value
    assert isinstance(cache, int)
    assert 512 <= cache <= 512 + spare // (1 << 20)
