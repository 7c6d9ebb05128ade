"""Which llama-server a machine gets, and what the report says is substituted."""

from __future__ import annotations

import subprocess

from deployer.rehearsal.engine.locate import EngineCommand, find_engine, wrapper_script
from deployer.rehearsal.substitutions import substitutions


def test_a_named_server_then_one_on_the_path_then_ours(tmp_path):
    program = tmp_path / "llama-server"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    assert find_engine({"DEPLOYER_LLAMA_SERVER": "/opt/x", "PATH": str(tmp_path)}) == EngineCommand(("/opt/x",), True)
    assert find_engine({"PATH": str(tmp_path)}) == EngineCommand((str(program),), True)
    ours = find_engine({"PATH": str(tmp_path / "none")})
    assert not ours.real
    assert ours.argv[-1] == "deployer.rehearsal.engine.command"


def test_the_wrapper_passes_every_word_on_and_marks_the_process(tmp_path):
    script = tmp_path / "llama-server"
    tell = EngineCommand(("/bin/sh", "-c", 'echo "$MARK"; for word in "$@"; do echo "<$word>"; done', "sh"), True)
    script.write_text(wrapper_script(tell, threads=1, marks={"MARK": "it's $HOME"}))
    script.chmod(0o755)
    told = subprocess.run([script, "a b", "$(x)", "-t", "8"], env={}, capture_output=True, text=True, check=True).stdout
    assert told.splitlines() == [
        "it's $HOME", "<a b>", "<$(x)>", "<-t>", "<8>", "<--threads>", "<1>", "<--threads-batch>", "<1>",
    ]  # fmt: skip


def test_substitutions_are_sentences_that_name_the_engine():
    ours, real = substitutions(environ={}), substitutions(environ={"DEPLOYER_LLAMA_SERVER": "/opt/llama-server"})
    assert all(sentence.endswith(".") for sentence in ours + real)
    assert any("xllamacpp" in sentence for sentence in ours)
    assert any("/opt/llama-server" in sentence for sentence in real)
