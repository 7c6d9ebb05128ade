"""The real thing: the agent and llama.cpp as processes of this machine."""

from __future__ import annotations

import json
import os
import signal
import socket
import threading
import urllib.error
import urllib.request

import pytest

from deployer.errors import BootstrapError, LockedError, NotHealthyError, RefusedError
from deployer.targets.local_agent import answers, engine_running, running
from deployer.targets.local_lock import stack_lock
from deployer.targets.local_process import find
from tests.support.waiting import until


def _models(here, key: str) -> list[str]:
    request = urllib.request.Request(
        f"http://127.0.0.1:{here.port}/v1/models", headers={"Authorization": f"Bearer {key}"}
    )
    with urllib.request.urlopen(request, timeout=10) as answer:
        return [entry["id"] for entry in json.load(answer)["data"]]


def test_up_again_status_and_down(here, planted_key):
    target, deployment = here.target(), here.deployment()
    assert target.plan(deployment).changes == 1
    first = target.up(deployment)
    assert (first.changes, first.url) == (1, f"http://127.0.0.1:{here.port}/v1")
    (completion,) = here.said("completion")
    assert completion["draft_n_accepted"] > 0
    states = {probe["rung"]: probe["state"] for probe in here.said("probe")}
    assert list(states.values()) == ["passed"] * 6 + ["skipped" if deployment.hardware.gpu is None else "passed"] + [
        "passed",
        "passed",
    ]
    assert _models(here, planted_key) == ["tiny"]
    with pytest.raises(urllib.error.HTTPError, match="401"):
        _models(here, "sk-wrong")

    agent = running(here.folder)
    here.events.clear()
    assert target.up(deployment).changes == 0
    assert running(here.folder) == agent
    assert here.said("step.start") == []

    status = target.status("local-tiny")
    assert (status.phase, status.model) == ("ready", "tiny")
    assert status.details["agent_pid"] == agent.pid
    assert [one.stack for one in target.list_stacks()] == ["local-tiny"]
    seen = json.dumps([dict(event.fields) for event in here.events]) + json.dumps(dict(status.details))
    for path in here.folder.path.rglob("*"):
        if path.is_file() and path != here.folder.api_key_file and path.suffix != ".gguf":
            seen += path.read_text(errors="replace")
    for pid in (agent.pid, engine_running(here.folder).pid):
        for name in ("cmdline", "environ"):
            with open(f"/proc/{pid}/{name}", errors="replace") as stream:
                seen += stream.read()
    assert planted_key not in seen

    down = target.down("local-tiny")
    assert down.remaining == ()
    assert [text.split()[0] for text in down.deleted] == ["agent", "engine", "files"]
    assert not answers(here.port)
    assert not agent.alive
    assert list(here.settings.home.rglob("*")) == [here.settings.home / "stacks"]
    assert (here.deployment().weights.file) in os.listdir(here.environ["DEPLOYER_MODELS"])
    assert target.down("local-tiny").deleted == ()
    with pytest.raises(RefusedError, match="no stack local-tiny"):
        target.status("local-tiny")


def test_a_killed_agent_leaves_an_engine_that_up_replaces_and_down_ends(here):
    target, deployment = here.target(), here.deployment()
    target.up(deployment)
    agent, engine = running(here.folder), engine_running(here.folder)
    os.kill(agent.pid, signal.SIGKILL)
    until(lambda: not agent.alive, "the agent is gone")
    assert engine.alive
    assert target.status("local-tiny").phase == "stopped"
    assert target.up(deployment).changes == 1
    assert not engine.alive
    agent, engine = running(here.folder), engine_running(here.folder)

    os.kill(agent.pid, signal.SIGKILL)
    until(lambda: not agent.alive, "the agent is gone")
    here.folder.engine_pid.unlink()  # as when the agent was killed before it could write it
    down = target.down("local-tiny")
    assert f"engine {engine.pid}" in down.deleted
    assert down.remaining == ()
    assert not engine.alive
    assert not here.folder.path.exists()


@pytest.mark.deep
def test_a_changed_spec_restarts_and_a_forgotten_agent_is_found(here):
    target = here.target()
    target.up(here.deployment())
    first = running(here.folder)
    # As when `up` was killed between the start and the note of it.
    record = json.loads(here.folder.record_file.read_text())
    here.folder.record_file.write_text(json.dumps({**record, "pid": None, "start": None}))
    assert target.plan(here.deployment()).changes == 0
    changed = here.deployment(engine_mtp="off")
    (step,) = target.plan(changed).steps
    assert (step.action, step.reason) == ("replace", "the spec changed")
    here.events.clear()
    assert target.up(changed).changes == 1
    assert not first.alive
    (completion,) = here.said("completion")
    assert completion["draft_n"] is None
    assert len(find("--api-key-file", str(here.folder.api_key_file))) == 1


def test_a_taken_port_is_refused_before_anything_starts(here):
    with socket.create_server(("127.0.0.1", here.port)), pytest.raises(RefusedError, match=f"port {here.port}"):
        here.target().up(here.deployment())
    assert running(here.folder) is None
    here.target().down("local-tiny")
    assert not here.folder.path.exists()


def test_a_missing_model_is_refused_with_the_way_to_make_one(here, tmp_path):
    here.environ["DEPLOYER_MODELS"] = str(tmp_path / "none")
    with pytest.raises(RefusedError, match=f"no model file {tmp_path}/none/tiny-qwen35-mtp.gguf") as raised:
        here.target().up(here.deployment())
    assert "deployer sandbox model" in raised.value.hint
    assert not here.folder.path.exists()


def test_two_operators_at_once(here):
    with stack_lock(here.folder.path), pytest.raises(LockedError, match=f"process {os.getpid()}"):
        here.target().up(here.deployment())


def test_an_engine_that_refuses_a_flag_is_a_typed_failure_and_leaves_nothing_running(scripted):
    here = scripted("#!/bin/sh\necho 'error: invalid argument: --spec-type' >&2\nexit 1\n")
    with pytest.raises(BootstrapError) as raised:
        here.target().up(here.deployment())
    assert raised.value.failure_code == "bad_flag"
    assert raised.value.exit_code == 5
    assert str(here.folder.engine_log) in raised.value.hint
    assert running(here.folder) is None
    assert here.target().status("local-tiny").phase == "failed"
    assert here.target().down("local-tiny").remaining == ()


def test_an_engine_that_cannot_start_and_a_second_try(scripted, tmp_path):
    here = scripted("#!/bin/sh\nexit 132\n")
    with pytest.raises(BootstrapError) as raised:
        here.target().up(here.deployment())
    assert raised.value.failure_code == "illegal_instruction"
    (tmp_path / "llama-server").unlink()
    with pytest.raises(RefusedError, match="DEPLOYER_LLAMA_SERVER"):
        here.target().up(here.deployment())
    here.environ["DEPLOYER_LLAMA_SERVER"] = ""
    assert here.target().up(here.deployment()).changes == 1


def test_an_agent_that_dies_without_a_word_ends_the_climb(scripted):
    here = scripted("#!/bin/sh\nexec sleep 60\n")
    failures: list[Exception] = []

    def up() -> None:
        try:
            here.target().up(here.deployment())
        except NotHealthyError as error:
            failures.append(error)

    thread = threading.Thread(target=up, daemon=True)
    thread.start()
    until(lambda: engine_running(here.folder), "the engine runs")
    engine, agent = engine_running(here.folder), running(here.folder)
    os.kill(agent.pid, signal.SIGKILL)
    thread.join(20)
    assert "process has ended" in failures[0].message
    assert not engine.alive
