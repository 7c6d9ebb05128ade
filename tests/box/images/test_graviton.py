"""The graviton build on emulated processors: it answers on Graviton4's, and older ones are told to be the wrong ones.

The agent runs it as on an instance; the only difference is that its llama-server is an emulator's command line.
"""

from __future__ import annotations

import json
import shlex
import subprocess
import urllib.request
from pathlib import Path

import pytest

from deployer.render.program import PACKAGE, make
from tests.box.images.arm import command
from tests.box.images.building import tiny
from tests.unit.agent.box import KEY, Box

pytestmark = pytest.mark.box
_SECONDS = 300


@pytest.fixture
def box(tmp_path: Path) -> Box:
    library = tmp_path / "lib"
    (library / PACKAGE).mkdir(parents=True)
    (library / PACKAGE / "__main__.py").write_text(make())
    made = Box(tmp_path / "root", library)
    (made.root / "models/m.gguf").unlink()
    (made.root / "models/m.gguf").symlink_to(tiny())
    engine = made.config["engine"]
    engine["argv"] += ["-c", "1024", "-np", "1", "-t", "2", "--spec-type", "draft-mtp", "--spec-draft-n-max", "2"]
    engine["build"] = "graviton"
    made.config["deadlines"] |= {"engine_load_s": _SECONDS, "ready_s": _SECONDS}
    made.environ["PATH"] = f"{made.root}/bin:/usr/bin:/bin"
    return made


def run_on(box: Box, cpu: str) -> None:
    """Make the box's llama-server the emulated one."""
    program = box.root / "bin/llama-server"
    program.write_text(f'#!/bin/sh\nexec {shlex.join(command(cpu))} "$@"\n')
    program.chmod(0o755)


def test_it_answers_with_drafts_on_a_processor_that_has_the_features(box: Box) -> None:
    run_on(box, "neoverse-n2")
    agent = box.start()
    try:
        ready = box.said("ready", "done", _SECONDS)
        assert ready["detail"]["draft_n_accepted"] > 0
        body = {"model": "tiny", "messages": [{"role": "user", "content": "Hello"}], "max_tokens": 8}
        request = urllib.request.Request(
            f"http://127.0.0.1:{box.port}/v1/chat/completions",
            data=json.dumps(body).encode(),
            headers={"Authorization": f"Bearer {KEY}", "Content-Type": "application/json"},
        )
        with urllib.request.urlopen(request, timeout=_SECONDS) as answer:
            timings = json.load(answer)["timings"]
        assert timings["draft_n_accepted"] > 0
        agent.terminate()
        assert agent.wait(60) == 0
    finally:
        box.close()


@pytest.mark.parametrize("cpu", ["neoverse-n1", "neoverse-v1"])
def test_older_processors_are_told_apart_by_loading_and_not_by_the_version(box: Box, cpu: str) -> None:
    said = subprocess.run(command(cpu, "--version"), capture_output=True, text=True, check=True, timeout=_SECONDS)
    assert "11549" in said.stdout + said.stderr
    run_on(box, cpu)
    try:
        assert box.start().wait(_SECONDS) == 1
        failure = box.failure()
    finally:
        box.close()
    assert (failure["phase"], failure["code"]) == ("engine", "illegal_instruction")
    assert "132" in failure["message"]
