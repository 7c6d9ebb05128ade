"""`deployer logs` of a machine that serves, of one that failed, and of one that is gone."""

from __future__ import annotations

import json
import signal
from pathlib import Path

import pytest

from tests.access_cli.support import SPEC, STACK, Box
from tests.rehearse.support import Sandbox

FAILS = "fails-early"


def _sources(out: bytes) -> dict[str, list[dict]]:
    found: dict[str, list[dict]] = {"agent": [], "console": [], "engine": []}
    for line in out.splitlines():
        body = json.loads(line)
        if body["event"] == "log":
            found[body["source"]].append(body)
    return found


def test_by_default_the_agent_and_the_engine(box: Box) -> None:
    ran = box.run("logs")
    lines = ran.out.decode().splitlines()
    assert ran.code == 0 and ran.err == b""
    engine = [line for line in lines if line.startswith("engine| ")]
    agent = lines[: len(lines) - len(engine)]
    assert "✔ weights" in "\n".join(agent) and agent[-1].split(maxsplit=2)[2].startswith("✔ ready")
    assert all(line[:4].isdigit() and line[10] == " " for line in agent), "every line begins with its time"
    assert 0 < len(engine) <= 40
    assert engine[-1].removeprefix("engine| ") == box.engine_log.read_text().splitlines()[-1]


def test_one_log_alone_and_how_much_of_it(box: Box) -> None:
    console = _sources(box.run("logs", "--console", "--json", "--lines", "1000").out)
    assert console["agent"][0]["phase"] == "boot" and console["agent"][-1]["state"] == "done"
    assert "-----BEGIN SSH HOST KEY KEYS-----" in [body["line"] for body in console["console"]]
    assert console["engine"] == []
    assert box.run("logs", "--engine", "--lines", "3").out == b"".join(
        box.engine_log.read_bytes().splitlines(keepends=True)[-3:]
    )


def test_the_key_is_never_shown(box: Box) -> None:
    key = json.loads(box.run("env", "--json").out)["OPENAI_API_KEY"]
    with box.engine_log.open("a") as log:
        log.write(f"Authorization: Bearer {key}\n\x1b]0;title\x07\x1b[31mred\x1b[0m\n")
    try:
        for arguments in (("--json",), ("--engine",)):
            ran = box.run("logs", STACK, *arguments)
            assert key.encode() not in ran.out
            assert b"Authorization: Bearer [API key]" in ran.out
            assert b"\x1b" not in ran.out and b"\x07" not in ran.out
    finally:
        _blot_out(box.engine_log, key)


def _blot_out(log: Path, planted: str) -> None:
    """In its place, since the engine goes on writing: later tests look for keys in this log."""
    with log.open("r+b") as file:
        file.seek(file.read().index(planted.encode()))
        file.write(b"x" * len(planted))


@pytest.mark.deep
def test_another_host_key_silences_the_engine_only(box: Box) -> None:
    with box.another_host_key():
        both, engine = box.run("logs"), box.run("logs", "--engine", "--json")
    assert both.code == 0 and "✔ ready".encode() in both.out and b"engine|" not in both.out
    assert b"engine log cannot be read" in both.err and b"host key" in both.err
    assert engine.code == 6 and "host key" in engine.error["message"]


def test_following_goes_on_until_ctrl_c(box: Box) -> None:
    with box.sandbox.start("logs", STACK, "-f", "--json", "--lines", "1") as process:
        assert process.stdout is not None
        begin = [json.loads(process.stdout.readline()) for _ in range(2)]
        assert {body["source"] for body in begin} == {"agent", "engine"}
        for text in ("first of two", "second of two"):
            with box.engine_log.open("a") as log:
                log.write(f"{text}\n")
            assert json.loads(process.stdout.readline())["line"] == text
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=30)
    assert (process.returncode, out, err) == (0, "", "")


@pytest.mark.deep
def test_a_failed_start_explains_itself_also_when_it_is_gone(sandbox: Sandbox) -> None:
    # The second source answers at once that it has no such file.
    sandbox.env["DEPLOYER_MIRROR_HF"] = sandbox.env["DEPLOYER_MIRROR_MODELSCOPE"]
    overrides = (f"name={FAILS}", f"model.sha256={'ab' * 32}", "endpoint.port=18099")
    _, err = sandbox.run("up", SPEC, *(word for pair in overrides for word in ("--set", pair)), code=5)
    assert f"`deployer logs {FAILS}`" in err

    out, err = sandbox.run("logs", FAILS)
    last = out[out.index("✘") :].splitlines()
    assert last[0].startswith("✘ weights failed: weights_checksum") and "hint: the file is not the one" in last[-1]
    assert "has written no log yet" in err

    sandbox.run("down", FAILS)
    out, err = sandbox.run("logs", FAILS)
    assert "weights_checksum" in out and "engine log cannot be read" in err
    assert sandbox.run("logs", "never-there", code=3)[1].startswith("error: there is no stack never-there")
