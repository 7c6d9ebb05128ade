"""Real llama.cpp on the synthetic models: it serves, drafts, refuses and ends as llama-server does."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.request

import pytest

from deployer.rehearsal.tiny_model import Variant
from tests.rehearsal.engine import run_engine
from tests.support.waiting import until

MTP = ("--spec-type", "draft-mtp", "--spec-draft-n-max", "2", "--spec-draft-p-min", "0.0")


@pytest.mark.parametrize("architecture", ["qwen35", "qwen35moe"])
def test_drafts_are_made_and_accepted_with_an_mtp_head(models, start_engine, architecture):
    engine = start_engine("-m", models(Variant(architecture)), "-c", 4096, "-np", 1, *MTP).ready()
    answer = engine.chat()
    timings = answer["timings"]
    assert 0 < timings["draft_n_accepted"] < timings["draft_n"]
    message = answer["choices"][0]["message"]
    assert message["content"].startswith(" This answer comes from a synthetic Qwen3.6-architecture model")
    assert message["reasoning_content"].startswith(" No thought is needed")
    plain = engine.chat(20, chat_template_kwargs={"enable_thinking": False})
    assert "reasoning_content" not in plain["choices"][0]["message"]


@pytest.mark.parametrize("architecture", ["qwen35", "qwen35moe"])
def test_no_draft_keys_without_the_flag_and_the_same_text(models, start_engine, architecture):
    with_head = start_engine("-m", models(Variant(architecture)), "-c", 4096, "-np", 1).ready().chat()
    without = start_engine("-m", models(Variant(architecture, "absent")), "-c", 4096, "-np", 1).ready().chat()
    for answer in (with_head, without):
        assert not {"draft_n", "draft_n_accepted"} & set(answer["timings"])
    assert with_head["choices"][0]["message"] == without["choices"][0]["message"]


@pytest.mark.parametrize(("accept", "low", "high"), [(0.0, 0.0, 0.2), (1.0, 1.0, 1.0)])
def test_the_acceptance_is_the_one_asked_for(models, start_engine, accept, low, high):
    engine = start_engine("-m", models(Variant(accept=accept)), "-c", 4096, "-np", 1, *MTP).ready()
    timings = engine.chat()["timings"]
    assert low <= timings["draft_n_accepted"] / timings["draft_n"] <= high


def test_the_whole_command_line_of_a_deployment(models, start_engine, tmp_path):
    key_file = tmp_path / "key"
    key_file.write_text("# ours\nsk-one\nsk-two\n")
    engine = start_engine(
        "--host", "127.0.0.1", "-m", models(Variant()), "--alias", "qwen", "--api-key-file", key_file, "-c", 8192,
        "-np", 2, "-tb", 1, "-fa", "on", "-ctk", "q8_0", "-ctv", "q8_0", "--fit", "off", "--cache-ram", 64,
        "--ctx-checkpoints", 4, "--metrics", "--no-ui", "--cors-origins", "localhost", "--sse-ping-interval", 5,
        "-ngl", 999, *MTP, key="sk-two",
    ).ready()  # fmt: skip
    for path in ("/v1/models", "/props", "/slots", "/metrics"):
        status, body = engine.get(path, key="wrong")
        assert (status, body["error"]["type"]) == (401, "authentication_error")
    assert engine.get("/v1/models")[1]["data"][0]["id"] == "qwen"
    assert engine.get("/props")[1]["default_generation_settings"]["n_ctx"] == 4096
    assert [slot["speculative"] for slot in engine.get("/slots")[1]] == [True, True]
    assert engine.chat()["timings"]["draft_n_accepted"] > 0
    assert "llamacpp:spec_decode_num_accepted_tokens_total" in engine.get("/metrics")[1]
    assert "sk-" not in engine.log


def test_without_slots_there_are_four_and_no_endpoint_when_it_is_closed(models, start_engine):
    engine = start_engine("-m", models(Variant()), "-c", 4096, "--no-slots").ready()
    assert engine.get("/props")[1]["total_slots"] == 4
    assert engine.get("/slots")[0] == 501


def test_a_thread_limit_of_the_environment_is_kept(models, start_engine):
    limited = {"DEPLOYER_ENGINE_THREADS": "1"}
    engine = start_engine("-m", models(Variant()), "-c", 512, "-tb", 7, env=limited).ready()
    assert "n_threads = 1" in engine.log
    assert "n_threads = 7" not in engine.log


@pytest.mark.parametrize("architecture", ["qwen35", "qwen35moe"])
def test_a_file_without_mtp_head_cannot_draft(models, architecture):
    ended = run_engine("-m", models(Variant(architecture, "absent")), "--port", 0, "-t", 1, *MTP)
    assert ended.returncode == 1
    assert "context type MTP requested but model doesn't contain MTP layers" in ended.stderr
    assert "exiting due to model loading error" in ended.stderr


_TALKS_AND_ENDS = """
import ctypes, os, xllamacpp
from deployer.rehearsal.engine.serve import flush_log
library = ctypes.CDLL(xllamacpp.xllamacpp.__file__)
log, add = library["_Z15common_log_mainv"], library["_Z14common_log_addP10common_log14ggml_log_levelPKcz"]
log.restype = ctypes.c_void_p
for number in range(5000):
    add(ctypes.c_void_p(log()), 2, b"line %d\\n", number)
flush_log(xllamacpp)
os._exit(0)
"""


def test_everything_llama_cpp_has_logged_is_written_before_the_end():
    ended = subprocess.run([sys.executable, "-c", _TALKS_AND_ENDS], capture_output=True, text=True, check=True)
    assert ended.stderr.splitlines()[-1].endswith("line 4999")
    assert len(ended.stderr.splitlines()) == 5000


def test_a_key_without_the_tensors_aborts(models):
    ended = run_engine("-m", models(Variant(head="missing-tensors")), "--port", 0, "-t", 1, *MTP)
    assert ended.returncode == -signal.SIGABRT
    assert "MTP block missing nextn.eh_proj" in ended.stderr


def test_a_sidecar_head_drafts_for_a_plain_trunk(models, start_engine):
    trunk, sidecar = models(Variant(head="absent")), models(Variant(head="only"))
    engine = start_engine("-m", trunk, "-md", sidecar, "-c", 4096, "-np", 1, *MTP).ready()
    assert engine.chat()["timings"]["draft_n_accepted"] > 0


def test_quantised_values_need_flash_attention(models):
    ended = run_engine("-m", models(Variant()), "--port", 0, "-t", 1, "-fa", "off", "-ctv", "q8_0", "-c", 512)
    assert ended.returncode == 1
    assert "quantized V cache" in ended.stderr


def test_missing_and_broken_files(models, tmp_path):
    whole = models(Variant()).read_bytes()
    (tmp_path / "cut.gguf").write_bytes(whole[: len(whole) // 2])
    (tmp_path / "junk.gguf").write_bytes(b"not a model" * 1000)
    for name in ("absent.gguf", "cut.gguf", "junk.gguf"):
        ended = run_engine("-m", tmp_path / name, "--port", 0, "-t", 1)
        assert ended.returncode == 1
        assert " E " in ended.stderr


def test_a_taken_port_is_named(models):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        ended = run_engine("-m", models(Variant()), "--port", port, "-t", 1)
    assert ended.returncode == 1
    assert f"couldn't bind HTTP server socket, hostname: 127.0.0.1, port: {port}" in ended.stderr


def test_sigterm_ends_an_idle_server_with_0(models, start_engine):
    assert start_engine("-m", models(Variant()), "-c", 512).ready().stop() == 0


def test_a_plain_request_in_flight_holds_the_end_back_until_a_second_sigterm(models, start_engine):
    engine = start_engine("-m", models(Variant(endless=True)), "-c", 200_000, "-np", 1).ready()
    body = json.dumps({"messages": [{"role": "user", "content": "Hi"}], "max_tokens": 150_000}).encode()
    request = urllib.request.Request(f"http://127.0.0.1:{engine.port}/v1/chat/completions", body)

    def ask() -> None:
        with pytest.raises(OSError):
            urllib.request.urlopen(request, timeout=60)

    asking = threading.Thread(target=ask)
    asking.start()
    until(lambda: engine.get("/slots")[1][0]["is_processing"], "the request being worked on")
    engine.handles_signals()
    engine.process.send_signal(signal.SIGTERM)
    until(lambda: "waiting for main loop exit" in engine.log, "the end being begun")
    assert engine.process.poll() is None
    engine.process.send_signal(signal.SIGTERM)
    assert engine.process.wait(5) == -signal.SIGTERM
    asking.join(5)


def test_the_first_completion_comes_within_a_second_of_the_start(models, start_engine):
    model = models(Variant())
    best = min(_seconds_to_completion(start_engine, model) for _ in range(3))
    # A bound for a busy two-core machine; a quiet one needs about 0.3 s.
    assert best < 2.0


def _seconds_to_completion(start_engine, model) -> float:
    began = time.monotonic()
    start_engine("-m", model, "-c", 4096, "-np", 1, *MTP).ready().chat(16)
    return time.monotonic() - began
