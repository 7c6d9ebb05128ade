"""An engine's end -> failure code: first the rule alone, then through the whole agent with engines that really end."""

from __future__ import annotations

import socket
from typing import Any

import pytest

from deployer.agent.failures import explain
from deployer.agent.protocol import FAILURE_HINTS
from tests.unit.agent.box import Box
from tests.unit.agent.engines import ending, serving

# exit code, log lines, was MTP on, failure code
CASES: list[tuple[int, list[str], bool, str]] = [
    (132, [], False, "illegal_instruction"),
    (1, ["llama_init: context type MTP requested but model doesn't contain MTP layers"], True, "mtp_missing_in_gguf"),
    (1, ["failed to create MTP context", "exiting due to model loading error"], True, "mtp_missing_in_gguf"),
    (
        134,
        ['GGML_ASSERT(layer.nextn.eh_proj && "MTP block missing nextn.eh_proj") failed'],
        True,
        "mtp_missing_in_gguf",
    ),
    (134, [], True, "mtp_missing_in_gguf"),
    (134, ["GGML_ASSERT(n_tokens > 0) failed"], True, "engine_exit"),
    (134, [], False, "engine_exit"),
    (134, ["terminate called after throwing an instance of 'std::bad_alloc'"], True, "out_of_memory"),
    (134, ["CUDA error: out of memory", "ggml-cuda.cu:90: CUDA error"], True, "out_of_memory"),
    (1, ["error: invalid argument: --no-mmap"], False, "bad_flag"),
    (1, ["error: the argument has been removed. use --spec-draft-n-max or --spec-ngram-mod-n-max"], False, "bad_flag"),
    (1, ["error: unknown speculative type: mtp"], False, "bad_flag"),
    (1, ["expected value for argument"], False, "bad_flag"),
    (1, ['error while handling environment variable "LLAMA_ARG_DRAFT_MAX": gone'], False, "bad_flag"),
    (1, ["invalid device: CUDA0"], False, "bad_flag"),
    (1, ["quantized V cache requires flash_attn to be enabled"], False, "bad_flag"),
    (137, ["loading"], False, "out_of_memory"),
    (1, ["ggml_backend_cuda_buffer_type_alloc_buffer: allocating 900 MiB: cudaMalloc failed"], False, "out_of_memory"),
    (1, ["failed to allocate buffer of size 2147483648"], False, "out_of_memory"),
    (134, ["ggml/src/ggml.c:1644: GGML_ASSERT(ctx->mem_buffer != NULL) failed"], True, "out_of_memory"),
    (134, ["E ggml_aligned_malloc: insufficient memory (attempted to allocate 394.82 MB)"], False, "out_of_memory"),
    (1, ["E srv start: couldn't bind HTTP server socket, hostname: 127.0.0.1, port: 18080"], False, "port_taken"),
    (98, ["bind: Address already in use"], False, "port_taken"),
    (1, ["ggml_cuda_init: failed: no CUDA-capable device is detected"], False, "driver_missing"),
    (1, ["gguf_init_from_file: invalid magic characters"], False, "engine_exit"),
    (0, [], False, "engine_exit"),
]


@pytest.mark.parametrize(("code", "log", "mtp", "expected"), CASES)
def test_explain(code: int, log: list[str], mtp: bool, expected: str) -> None:
    failure = explain(code, log, mtp)
    assert (failure.phase, failure.code) == ("engine", expected)
    assert expected in FAILURE_HINTS
    assert str(code) in failure.message


@pytest.mark.parametrize(
    ("program", "code", "says"),
    [
        (ending(-4), "illegal_instruction", "132"),
        (ending(-6, "MTP block missing nextn.eh_proj"), "mtp_missing_in_gguf", "134"),
        (ending(-9), "out_of_memory", "137"),
        (ending(1, "E error: invalid argument: --no-mmap"), "bad_flag", "--no-mmap"),
        (serving(die_on_request="ggml: out of memory"), "out_of_memory", "out of memory"),
        (serving(alias="another"), "not_ready", "another"),
    ],
    ids=["sigill", "abort", "killed", "flag", "first-decode", "alias"],
)
def test_an_engine_that_really_ends(box: Box, program: str, code: str, says: str) -> None:
    box.program(program)
    box.config["deadlines"]["ready_s"] = 0.3
    assert box.run() == 1
    assert box.failure()["code"] == code
    assert says in box.failure()["message"]


def test_only_this_start_s_log_lines_count(box: Box) -> None:
    log = box.root / "var/log/deployer/engine.log"
    log.parent.mkdir(parents=True)
    log.write_text("error: invalid argument: --old\n")
    box.program(ending(5, "E something new"))
    assert box.run() == 1
    assert box.failure()["code"] == "engine_exit"
    assert box.failure()["log"] == ["E something new"]


def test_a_slow_load_misses_its_deadline(box: Box) -> None:
    box.program(serving(loading=10**6))
    box.config["deadlines"]["engine_load_s"] = 0.3
    assert box.run() == 1
    failure = box.failure()
    assert (failure["phase"], failure["code"]) == ("engine", "not_ready")
    assert "Loading model" in failure["message"]


def test_a_taken_port_is_seen_before_the_start(box: Box) -> None:
    box.program(serving())
    with socket.socket() as other:
        other.bind(("127.0.0.1", box.port))
        other.listen()
        assert box.run() == 1
    assert box.failure()["code"] == "port_taken"


def test_no_engine_program(box: Box) -> None:
    assert box.run() == 1
    failure = box.failure()
    assert (failure["phase"], failure["code"]) == ("runtime", "runtime_missing")
    assert "llama-server" in failure["message"]


def test_an_engine_that_cannot_be_executed(box: Box) -> None:
    path = box.program(serving())
    path.write_bytes(b"\x7fELF not a program")
    assert box.run() == 1
    assert box.failure()["code"] == "runtime_missing"


@pytest.mark.parametrize("key", [None, "", "# only a comment"])
def test_no_key(box: Box, key: str | None) -> None:
    box.program(serving())
    path = box.root / "run/deployer/api-key"
    path.unlink()
    if key is not None:
        path.write_text(key)
    assert box.run() == 1
    assert box.failure()["code"] == "key_rejected"


def test_every_code_that_is_said_has_a_hint() -> None:
    said: set[Any] = {case[3] for case in CASES}
    assert said <= set(FAILURE_HINTS)
