"""The command line that is taken, and llama.cpp's own words for what is not."""

from __future__ import annotations

import pytest

from deployer.rehearsal.engine.flags import FLAGS, GROUPS, Member
from deployer.rehearsal.engine.numbers import NUMERIC
from deployer.rehearsal.engine.parse import FlagError, parse, usage
from tests.rehearsal.engine import run_engine

REFUSED = [
    (["--no-mmap"], "error: invalid argument: --no-mmap"),
    (["--mmap"], "error: invalid argument: --mmap"),
    (["--mlock"], "error: invalid argument: --mlock"),
    (["--frobnicate", "1"], "error: invalid argument: --frobnicate"),
    (["-fa"], 'error while handling argument "-fa": expected value for argument'),
    (["-fa", "yes"], "unknown value for --flash-attn: yes"),
    (["-ctk", "q3"], "Unsupported cache type: q3"),
    (["--spec-type", "mtp"], "unknown speculative type: mtp"),
    (["--spec-type", "draft-mtp,nonsense"], "unknown speculative type: nonsense"),
    (["--draft-max", "3"], "the argument has been removed. use --spec-draft-n-max or --spec-ngram-mod-n-max"),
    (["--draft", "3"], "the argument has been removed. use --spec-draft-n-max or --spec-ngram-mod-n-max"),
    (["--draft-min", "3"], "the argument has been removed. use --spec-draft-n-min or --spec-ngram-mod-n-min"),
    (["--spec-ngram-size-n", "3"], "the argument has been removed. use the respective --spec-ngram-*-size-n"),
    (["--spec-ngram-min-hits", "3"], "the argument has been removed. use the respective --spec-ngram-*-min-hits"),
    (["-c", "many"], 'error while handling argument "-c": stoi'),
    (["--fit", "maybe"], "unknown value: 'maybe'"),
    (["--rope-freq-base", "abc"], 'error while handling argument "--rope-freq-base": stof'),
    (["--rope-scaling", "cubic"], 'error while handling argument "--rope-scaling": invalid value'),
    (["-ncmoe", "few"], 'error while handling argument "-ncmoe": stoi'),
    (["--repeat-penalty", ""], 'error while handling argument "--repeat-penalty": stof'),
    (["-ts", "3,x"], 'error while handling argument "-ts": stof'),
    (["--control-vector-layer-range", "1", "last"], "stoi"),
    (["-c", "99999999999"], 'error while handling argument "-c": stoi'),
]


@pytest.mark.parametrize(("arguments", "words"), REFUSED, ids=[" ".join(row[0]) for row in REFUSED])
def test_refused(arguments, words):
    with pytest.raises(FlagError) as refusal:
        parse(arguments, {})
    assert words in str(refusal.value)


def test_a_refusal_is_printed_on_stderr_and_ends_with_1():
    ended = run_engine("-m", "x.gguf", "--no-mmap")
    assert (ended.returncode, ended.stdout, ended.stderr) == (1, "", "error: invalid argument: --no-mmap\n")


def test_a_stray_removed_variable_stops_the_start():
    ended = run_engine("-m", "x.gguf", env={"LLAMA_ARG_DRAFT_MAX": "3"})
    assert ended.returncode == 1
    assert 'error while handling environment variable "LLAMA_ARG_DRAFT_MAX": the argument has been' in ended.stderr


def test_flags_win_over_variables_but_speculative_types_add_up():
    environ = {"LLAMA_ARG_CTX_SIZE": "1024", "LLAMA_ARG_SPEC_TYPE": "draft-mtp", "LLAMA_ARG_ENDPOINT_METRICS": "1"}
    found = parse(["-c", "2048", "--spec-type", "none"], environ)
    assert found.params["n_ctx"] == 2048
    assert found.params["endpoint_metrics"] is True
    kinds = ["COMMON_SPECULATIVE_TYPE_DRAFT_MTP", "COMMON_SPECULATIVE_TYPE_NONE"]
    assert found.speculative == tuple(Member("common_speculative_type", kind) for kind in kinds)


def test_the_defaults_that_moved():
    found = parse([], {})
    assert (found.host, found.params["port"]) == ("127.0.0.1", 9931)


def test_an_unknown_device_is_refused(tmp_path):
    ended = run_engine("-m", tmp_path / "x.gguf", "--port", 0, "-dev", "CUDA0")
    assert ended.returncode == 1
    assert "invalid device: CUDA0" in ended.stderr


def test_an_unreadable_key_file_is_refused(tmp_path):
    ended = run_engine("-m", tmp_path / "x.gguf", "--port", 0, "--api-key-file", tmp_path / "none")
    assert ended.returncode == 1
    assert "failed to open file" in ended.stderr


def test_help_names_every_flag_and_the_speculative_types():
    ended = run_engine("--help")
    assert ended.returncode == 0
    for flag in FLAGS:
        assert ", ".join(flag.names) in ended.stdout
    assert "draft-mtp" in ended.stdout
    assert usage().strip() == ended.stdout.strip()


def test_help_names_all_of_the_dialect():
    from deployer.engine.dialect import dialect

    words = set(usage().replace(",", " ").split())
    assert set(dialect().flags) <= words


def test_flags_that_are_not_carried_out_are_read_past_and_named():
    found = parse(["--n-cpu-moe", "4", "--check-tensors", "-c", "512"], {})
    assert found.without_effect == ("--n-cpu-moe", "--check-tensors")
    assert found.params["n_ctx"] == 512
    with pytest.raises(FlagError, match="expected value"):
        parse(["--n-cpu-moe"], {})


def test_numbers_are_read_as_cpp_reads_them():
    assert parse(["-c", " 16k"], {}).params["n_ctx"] == 16
    assert parse(["--temp", ".5e1x"], {}).params["sampling.temp"] == 5
    taken = ["--rope-freq-base", "1e6", "--keep", "-1", "-ts", "3/1.5", "--pooling", "mean", "--dry-base", "inf"]
    assert len(parse(taken, {}).without_effect) == 5


def test_the_kinds_are_those_of_flags_that_are_only_read_past():
    from deployer.engine.dialect import dialect

    flags = dialect().flags
    own = {name for flag in FLAGS for name in flag.names}
    for name in NUMERIC:
        assert flags[name].takes
        assert not own & set(flags[name].names)


def test_a_refused_value_of_a_flag_without_effect_ends_with_1():
    ended = run_engine("-m", "x.gguf", "--rope-freq-base", "abc")
    assert ended.returncode == 1
    assert ended.stderr.startswith('error while handling argument "--rope-freq-base": stof')


def test_version_and_devices():
    version = run_engine("--version")
    assert version.returncode == 0
    assert "build 11549" in version.stdout + version.stderr
    assert run_engine("--list-devices").stdout.startswith("Available devices:")


def test_no_name_is_given_twice():
    names = [name for flag in FLAGS for name in flag.names]
    assert len(names) == len(set(names))
    assert sum(len(group) for group in GROUPS.values()) == len(FLAGS)


def test_every_flag_reaches_llama_cpp():
    """Each flag's targets exist in the library, and take the flag's value."""
    import xllamacpp

    from deployer.rehearsal.engine.serve import _params

    samples = {
        "--host": "127.0.0.1", "-fa": "on", "-ctk": "q8_0", "-ctv": "q8_0", "-lm": "none", "--numa": "isolate",
        "-sm": "layer", "-fit": "off", "--spec-type": "draft-mtp", "--spec-draft-type-k": "q8_0",
        "--spec-draft-type-v": "q8_0", "-dev": "none",
    }  # fmt: skip
    for flag in FLAGS:
        arguments = [flag.names[0]] if flag.value is None else [flag.names[0], samples.get(flag.names[0], "2")]
        found = parse(arguments, {})
        if found.wants is None:
            _params(xllamacpp, found, [])


def test_the_product_sends_nothing_that_is_unknown_here():
    from deployer.decide.types import MtpChoice
    from deployer.engine import argv, dialect

    inputs = argv.ArgvInputs(
        model_path="/m.gguf", alias="a", host="127.0.0.1", port=1, api_key_file="/k", context=4096, parallel=2,
        threads=2, gpu=True, cache_type_k="f16", cache_type_v="f16", flash_attention="auto",
        prompt_cache_mib=1, checkpoints=1,
        mtp=MtpChoice(True, 2, 0.0),
    )  # fmt: skip
    found = parse(argv.render_argv(inputs, dialect.dialect()), {})
    assert found.aliases == ("a",)


def test_variables_set_sampling_as_in_llama_cpp() -> None:
    read = parse([], {"LLAMA_ARG_TEMPERATURE": "0.5", "LLAMA_ARG_TOP_P": "0.9"})
    assert read.params["sampling.temp"] == 0.5
    assert read.params["sampling.top_p"] == 0.9


def test_a_variable_turns_off_what_has_a_no_flag() -> None:
    assert parse([], {"LLAMA_ARG_UI": "off"}).params["ui"] is False
    assert parse(["--ui"], {"LLAMA_ARG_UI": "off"}).params["ui"] is True
    assert "endpoint_metrics" not in parse([], {"LLAMA_ARG_ENDPOINT_METRICS": "off"}).params
