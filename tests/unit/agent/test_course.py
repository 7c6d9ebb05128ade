"""The agent from start to stop, as it is sent, against an engine that serves."""

from __future__ import annotations

import hashlib
import json
import os
import signal
import stat
import subprocess
import sys

import pytest

from deployer.agent.processes import start_mark
from tests.unit.agent.box import KEY, Box, wait_until
from tests.unit.agent.engines import ending, serving
from tests.unit.agent.servers import FileServer, Metadata, Served

BODY = b"GGUF" + os.urandom(300_000)


def test_every_phase_is_said_and_sigterm_ends_all(box: Box) -> None:
    box.program(serving(loading=3))
    agent = box.start()
    ready = box.said("ready", "done")
    done = [line["phase"] for line in box.lines(state="done")]
    assert sorted(done[1:3]) == ["runtime", "weights"]
    assert [done[0], *done[3:]] == ["boot", "engine", "ready"]
    assert [line["phase"] for line in box.lines(state="skipped")] == ["driver", "image"]
    assert box.lines("boot", "done")[0]["host_keys"] == ["ssh-ed25519 AAAAkey"]
    assert ready["detail"] == {
        "predicted_per_second": 47.9,
        "draft_n": 26,
        "draft_n_accepted": 21,
        "devices": ["CUDA0 NVIDIA A10G"],
    }
    engine = box.engine_pid()
    agent.send_signal(signal.SIGTERM)
    assert agent.wait(10) == 0
    assert start_mark(engine) is None
    assert box.lines(state="failed") == []


def test_the_engine_sees_neither_llama_arg_nor_aws(box: Box) -> None:
    box.program(serving())
    box.start()
    box.said("ready", "done")
    log = (box.root / "var/log/deployer/engine.log").read_text()
    seen = json.loads(next(line for line in log.splitlines() if line.startswith("environment ")).split(" ", 1)[1])
    assert "PATH" in seen
    assert not [name for name in seen if name.startswith(("LLAMA", "AWS", "DEPLOYER", "PYTHON"))]


def test_the_key_is_never_said(box: Box) -> None:
    box.program(ending(1, f"error: invalid argument: {KEY}", "x" * 190 + KEY))
    assert box.run() == 1
    failure = box.failure()
    assert failure["code"] == "bad_flag"
    assert "[redacted]" in failure["message"]
    assert KEY not in box.console() and KEY[:8] not in box.console()
    assert json.dumps(KEY)[1:-1] not in box.console()


def test_log_lines_are_few_short_and_printable(box: Box) -> None:
    box.program(ending(3, *(f"\x1b[31mline {n}\x1b[0m\x07 \u2028{'y' * 500}" for n in range(100))))
    assert box.run() == 1
    log = box.failure()["log"]
    assert len(log) == 20
    assert log[-1].startswith("line 99 ")
    assert all(len(line) <= 200 and line.isprintable() for line in log)


def test_an_engine_in_the_middle_of_a_request_gets_a_second_sigterm(box: Box) -> None:
    box.program(serving(ignored_terms=1))
    agent = box.start()
    box.said("ready", "done")
    engine = box.engine_pid()
    agent.send_signal(signal.SIGTERM)
    assert agent.wait(15) == 0
    assert start_mark(engine) is None


def test_sigterm_while_downloading(box: Box, files: FileServer) -> None:
    files.files["/file"] = Served(BODY, pause_at=200_000)
    box.sources(files.url + "/file")
    box.program(serving())
    agent = box.start()
    assert files.paused.wait(10)
    wait_until(lambda: box.weights.with_suffix(".gguf.part").exists())
    agent.send_signal(signal.SIGTERM)
    assert agent.wait(10) == 0
    assert box.lines(state="failed") == []
    assert not box.weights.exists()


def test_sigterm_while_a_completion_is_awaited(box: Box) -> None:
    box.program(serving(hang=True))
    agent = box.start()
    box.said("ready", "start")
    agent.send_signal(signal.SIGTERM)
    assert agent.wait(10) == 0
    # The engine ended because it was told to: no failure.
    assert box.lines(state="failed") == []


def test_a_killed_agent_is_resumed(box: Box, files: FileServer) -> None:
    files.files["/file"] = Served(BODY, pause_at=200_000)
    box.config["weights"]["sha256"] = hashlib.sha256(BODY).hexdigest()
    box.sources(files.url + "/file")
    box.program(serving())
    agent = box.start()
    part = box.weights.with_suffix(".gguf.part")
    wait_until(lambda: part.exists() and part.stat().st_size == 200_000)
    agent.kill()
    agent.wait()
    files.go.set()
    second = box.start()
    done = box.said("weights", "done")
    assert box.weights.read_bytes() == BODY
    assert done["detail"]["resumed_at"] == 200_000
    assert done["detail"]["received"] == len(BODY) - 200_000
    assert files.requests[-1][1]["If-Range"] == '"1"'
    box.said("ready", "done")

    # Killed again, now with an engine running: the third agent downloads nothing and ends the leftover.
    engine, asked = box.engine_pid(), len(files.requests)
    second.kill()
    second.wait()
    assert start_mark(engine) is not None
    box.start()
    wait_until(lambda: len(box.lines("ready", "done")) == 2)
    assert start_mark(engine) is None
    assert len(files.requests) == asked
    assert [line["message"] for line in box.lines("weights", "done")[1:]] == ["already here"]
    assert f"(pid {engine})" in box.lines("boot", "progress")[0]["message"]


def test_a_foreign_process_under_the_old_pid_is_left_alone(box: Box) -> None:
    bystander = subprocess.Popen([sys.executable, "-c", "import threading; threading.Event().wait()"])
    try:
        state = box.root / "var/lib/deployer"
        state.mkdir(parents=True)
        (state / "engine.json").write_text(json.dumps({"pid": bystander.pid, "start": "1"}))
        box.program(serving())
        box.start()
        box.said("ready", "done")
        assert bystander.poll() is None
    finally:
        bystander.kill()
        bystander.wait()


def test_two_agents_do_not_share_a_state(box: Box) -> None:
    box.program(serving())
    box.start()
    box.said("ready", "done")
    assert box.run() == 1
    assert box.failure()["code"] == "agent_error"
    assert "another agent" in box.failure()["message"]


def test_an_engine_that_dies_after_ready_is_started_again(box: Box) -> None:
    box.program(serving())
    box.start()
    box.said("ready", "done")
    os.kill(box.engine_pid(), signal.SIGKILL)
    line = box.said("engine", "restarting")
    assert line["code"] == "out_of_memory"
    wait_until(lambda: len(box.lines("ready", "done")) == 2)


def test_what_keeps_dying_is_given_up(box: Box) -> None:
    box.program(serving(die_after=7))
    agent = box.start()
    box.said("ready", "done")
    # From now on it cannot even start: each try fails at once.
    box.program(ending(7, "E cannot go on"))
    assert agent.wait(60) == 1
    assert len(box.lines("engine", "restarting")) == 4
    failure = box.failure()
    assert failure["code"] == "engine_exit"
    assert "5 times" in failure["message"] and "cannot go on" in failure["message"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [("{", "JSONDecodeError"), ("[]", "TypeError"), ('{"v": 2}', "version 2"), ('{"v": 1}', "KeyError")],
)
def test_an_unusable_configuration_is_said(box: Box, text: str, expected: str) -> None:
    assert box.run(text=text) == 1
    assert expected in box.failure()["message"]
    assert box.failure()["code"] == "agent_error"


def test_the_key_comes_from_ssm(box: Box, metadata: Metadata) -> None:
    (box.root / "run/deployer/api-key").unlink()
    box.config["api_key"]["parameter"] = "/deployer/keys/t"
    box.environ = {"AWS_EC2_METADATA_SERVICE_ENDPOINT": metadata.url, "AWS_ENDPOINT_URL": metadata.url}
    metadata.missing = 1
    metadata.problem, metadata.problem_times = "AccessDeniedException", 2
    box.program(serving())
    box.start()
    box.said("ready", "done")
    assert metadata.asked == ["/deployer/keys/t"]
    path = box.root / "run/deployer/api-key"
    assert path.read_text() == metadata.value + "\n"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert metadata.value not in box.console()


@pytest.mark.parametrize("problem", ["ParameterNotFound", "AccessDeniedException"])
def test_a_key_that_is_refused(box: Box, metadata: Metadata, problem: str) -> None:
    box.config["api_key"]["parameter"] = "/deployer/keys/t"
    box.config["deadlines"]["api_key_s"] = 0.2
    box.config["ssm_endpoint"] = metadata.url
    box.environ = {"AWS_EC2_METADATA_SERVICE_ENDPOINT": metadata.url}
    metadata.problem = problem
    box.program(serving())
    assert box.run() == 1
    assert box.failure()["code"] == "key_rejected"
    assert problem in box.failure()["message"]


def test_no_metadata_service(box: Box) -> None:
    box.config["api_key"]["parameter"] = "/deployer/keys/t"
    box.config["deadlines"]["api_key_s"] = 0.1
    box.environ = {"AWS_EC2_METADATA_SERVICE_ENDPOINT": "http://127.0.0.1:9", "AWS_ENDPOINT_URL": "http://127.0.0.1:9"}
    box.program(serving())
    assert box.run() == 1
    assert box.failure()["code"] == "key_rejected"
