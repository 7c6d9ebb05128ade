from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deployer.engine.argv import ArgvInputs, padded_context, render_argv
from deployer.engine.dialect import dialect, parse
from tests.unit.engine.helpers import OFF, on

LANGUAGE = dialect()
PLAIN = ArgvInputs(
    model_path="/w/a.gguf",
    alias="a",
    host="127.0.0.1",
    port=18080,
    api_key_file="/run/key",
    context=32768,
    parallel=1,
    threads=8,
    gpu=False,
    cache_type_k="f16",
    cache_type_v="f16",
    flash_attention="auto",
    prompt_cache_mib=512,
    checkpoints=4,
    mtp=OFF,
)


def read_back(argv: tuple[str, ...]) -> dict[str, tuple[str, ...]]:
    uses, problems = parse(argv, LANGUAGE)
    assert problems == []
    assert len({use.flag for use in uses}) == len(uses), "a flag is given twice"
    return {name: use.values for use in uses for name in use.flag.names}


def test_nothing_that_matters_is_left_to_a_default() -> None:
    given_flags = read_back(render_argv(PLAIN, LANGUAGE))
    always = {"--host", "--port", "--model", "--alias", "--api-key-file", "--ctx-size", "--parallel", "--threads"}
    assert always <= set(given_flags)
    assert {"--threads-batch", "--flash-attn", "--cache-type-k", "--cache-type-v", "--fit"} <= set(given_flags)


def test_mtp_off_leaves_everything_speculative_out() -> None:
    assert not any("spec" in word or word == "none" for word in render_argv(PLAIN, LANGUAGE))


def test_mtp_on() -> None:
    argv = render_argv(replace(PLAIN, mtp=on(2)), LANGUAGE)
    assert argv[-6:] == ("--spec-type", "draft-mtp", "--spec-draft-n-max", "2", "--spec-draft-p-min", "0.0")


def test_the_context_is_the_sum_of_the_slots() -> None:
    # llama.cpp divides -c by -np, and pads each slot to 256.
    assert read_back(render_argv(replace(PLAIN, context=1000, parallel=4), LANGUAGE))["--ctx-size"] == ("4096",)
    assert padded_context(256) == 256
    assert padded_context(257) == 512


@pytest.mark.parametrize("gpu", [True, False])
def test_layers_go_to_a_gpu_only(gpu: bool) -> None:
    assert ("-ngl" in render_argv(replace(PLAIN, gpu=gpu), LANGUAGE)) is gpu


def test_the_users_word_replaces_ours() -> None:
    argv = render_argv(replace(PLAIN, extra_args=["-cram", "0", "--ui"]), LANGUAGE)
    assert argv[-3:] == ("-cram", "0", "--ui")
    assert "--cache-ram" not in argv
    assert "--no-ui" not in argv
    read_back(argv)


def test_no_secret_and_no_key() -> None:
    assert "--api-key" not in render_argv(PLAIN, LANGUAGE)


@given(
    st.builds(
        replace,
        st.just(PLAIN),
        context=st.integers(256, 1_000_000),
        parallel=st.integers(1, 64),
        threads=st.integers(1, 512),
        port=st.integers(1, 65535),
        gpu=st.booleans(),
        cache_type_k=st.sampled_from(["f32", "f16", "bf16", "q8_0", "q4_0", "q4_1", "iq4_nl", "q5_0", "q5_1"]),
        flash_attention=st.sampled_from(["on", "off", "auto"]),
        mtp=st.one_of(st.just(OFF), st.builds(on, st.integers(1, 16), st.floats(0, 0.99))),
    )
)
def test_round_trip(inputs: ArgvInputs) -> None:
    found = read_back(render_argv(inputs, LANGUAGE))
    assert found["--threads"] == (str(inputs.threads),)
    assert found["--port"] == (str(inputs.port),)
    assert found["--parallel"] == (str(inputs.parallel),)
    assert int(found["--ctx-size"][0]) == padded_context(inputs.context) * inputs.parallel
    assert found["--cache-type-k"] == (inputs.cache_type_k,)
    assert ("--spec-type" in found) is inputs.mtp.enabled
    if inputs.mtp.enabled:
        assert float(found["--spec-draft-p-min"][0]) == inputs.mtp.draft_p_min
