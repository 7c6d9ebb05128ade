"""`deployer exec` against a machine's ssh server: status, streams, input, arguments, and who is not trusted."""

from __future__ import annotations

import json
import subprocess

from tests.access_cli.support import STACK, Box, Ran
from tests.rehearse.support import program

#: What shells, ssh and terminals make something of, and bytes that are no UTF-8.
HOSTILE = [
    "", " ", "a b", "$HOME", "`id`", "$(id)", "'", '"', "it's", "\\", "\\n", "*", "?", "[a]", "~", "-n", "--", "--json",
    ";", "&", "|", ">x", "<", "#", "!", "%s", "line\nline", "\ttab", "\r", "\x1b[31m", "ünïcödé", "日本", b"\xff\xfe",
]  # fmt: skip


def test_status_and_streams_are_the_commands_own(box: Box) -> None:
    ran = box.run("exec", STACK, "--", "sh", "-c", "echo out; echo err >&2; exit 7")
    assert (ran.code, ran.out, ran.err) == (7, b"out\n", b"err\n")


def test_arguments_arrive_as_they_were_given(box: Box) -> None:
    ran = box.run("exec", "--", "printf", "%s\\0", *HOSTILE)
    wanted = [word if isinstance(word, bytes) else word.encode() for word in HOSTILE]
    assert ran.code == 0, ran.err
    assert ran.out == b"".join(word + b"\0" for word in wanted)


def test_input_is_forwarded_whole_and_ends(box: Box) -> None:
    data = bytes(range(256)) * 4096
    assert box.run("exec", STACK, "--", "cat", stdin=data) == Ran(0, data, b"")


def test_a_reader_that_goes_away_ends_the_command(box: Box) -> None:
    line = [*program("exec", STACK, "--", "sh", "-c", "while echo y; do :; done")]
    environ = {**box.sandbox.env, "PATH": "/usr/bin:/bin"}
    with subprocess.Popen(line, env=environ, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None and process.stderr is not None
        assert process.stdout.read(2) == b"y\n"
        process.stdout.close()
        assert process.wait(timeout=30) == 141
        assert process.stderr.read() == b""


def test_json_is_one_object(box: Box) -> None:
    ran = box.run("exec", STACK, "--json", "--", "sh", "-c", "echo out; echo err >&2; exit 3")
    assert ran.code == 3
    assert json.loads(ran.out) == {"stack": STACK, "exit_code": 3, "stdout": "out\n", "stderr": "err\n"}


def test_a_command_that_a_signal_ended_has_no_status_of_its_own(box: Box) -> None:
    ran = box.run("exec", STACK, "--", "sh", "-c", "kill -9 $$")
    assert ran.code in (137, 255), "a shell's status, or none at all"


def test_another_host_key_is_refused_with_255(box: Box) -> None:
    with box.another_host_key():
        ran = box.run("exec", STACK, "--json", "--", "touch", "never")
    assert ran.code == 255 and ran.out == b""
    assert ran.error["code"] == "ssh" and "host key" in ran.error["message"]
    assert not (box.root / "never").exists()
    assert box.run("exec", STACK, "--", "true").code == 0


def test_without_a_command_it_says_how(box: Box) -> None:
    for arguments in (("exec", STACK, "uptime"), ("exec", STACK, "--")):
        ran = box.run(*arguments)
        assert ran.code == 2
        assert b"after `--`" in ran.err


def test_json_behind_the_dashes_is_not_ours(box: Box) -> None:
    ran = box.run("exec", "no-such-stack", "--", "tool", "--json")
    assert ran.code == 3
    assert ran.err.startswith(b"error: there is no stack no-such-stack")
