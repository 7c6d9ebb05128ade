"""Streams that are closed, narrow or full, and signals that mean Ctrl-C."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest

from tests.cli.support import TIMEOUT_SECONDS, program

WAITING = (
    "import threading\n"
    "from deployer.cli import app, surroundings\n"
    "surroundings.treat_as_ctrl_c()\n"
    "try:\n"
    "    print('ready', flush=True)\n"
    "    threading.Event().wait(30)\n"
    "except KeyboardInterrupt:\n"
    "    print('interrupted', flush=True)\n"
)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
@pytest.mark.parametrize("background", [False, True], ids=["foreground", "background"])
def test_signals_mean_ctrl_c(number, background) -> None:
    if background and number is signal.SIGINT:
        pytest.skip("a shell has it ignored on purpose")
    inherited = signal.SIG_IGN if background else signal.SIG_DFL

    def inherit() -> None:
        signal.signal(signal.SIGINT, inherited)

    child = subprocess.Popen([sys.executable, "-c", WAITING], stdout=subprocess.PIPE, text=True, preexec_fn=inherit)
    assert child.stdout is not None
    with child:
        assert child.stdout.readline() == "ready\n"
        child.send_signal(number)
        assert child.stdout.read() == "interrupted\n"


def test_a_closed_stdout_is_no_traceback() -> None:
    done = subprocess.run(
        ["sh", "-c", 'exec "$@" >&-', "sh", *program("version")],
        capture_output=True,
        text=True,
        timeout=TIMEOUT_SECONDS,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("encoding", ["ascii", "latin1"])
def test_a_narrow_encoding_loses_characters_not_the_command(deployer, encoding) -> None:
    ran = deployer("completion", "--help", PYTHONIOENCODING=encoding)
    assert ran.code == 0
    ran = deployer("init", "demo", PYTHONIOENCODING=encoding)
    assert ran.code == 0
    done = subprocess.run(
        program("plan", "demo.yaml", "--offline"),
        cwd=deployer.directory,
        env={**os.environ, **deployer.env, "PYTHONIOENCODING": encoding},
        capture_output=True,
        timeout=TIMEOUT_SECONDS,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, b"")
    assert b"engine" in done.stdout.lower()


def test_a_name_and_all_contradict(deployer) -> None:
    ran = deployer("down", "--all", "--yes", "demo")
    assert ran.code == 2
    assert "--all" in ran.err


@pytest.mark.parametrize("command", [["ls"], ["down", "demo"], ["status", "demo"]])
def test_a_region_that_does_not_exist_is_refused_before_aws(deployer, command) -> None:
    ran = deployer(*command, "--region", "xx-mars-1")
    assert ran.code == 2
    assert 'no AWS partition has a region "xx-mars-1"' in ran.err


def test_a_reader_that_leaves_early_is_no_error(deployer) -> None:
    deployer("init", "demo")
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run(
        program("plan", "demo.yaml", "--offline"),
        cwd=deployer.directory,
        stdout=write,
        stderr=subprocess.PIPE,
        text=True,
        timeout=TIMEOUT_SECONDS,
        check=False,
    )
    os.close(write)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("command", [["down"], ["down", "--all"]])
def test_a_closed_stdin_is_nobody_to_ask(command, deployer) -> None:
    for name in ("one", "two"):
        (deployer.directory / "home/stacks" / name).mkdir(parents=True)
    done = subprocess.run(
        ["sh", "-c", 'exec "$@" <&-', "sh", *program(*command)],
        env={**os.environ, **deployer.env},
        capture_output=True,
        text=True,
        timeout=TIMEOUT_SECONDS,
        check=False,
    )
    assert done.returncode == 2
    assert "one" in done.stderr and "unexpected" not in done.stderr


@pytest.mark.parametrize("command", [["ls"], ["--help"], ["completion", "bash"]])
def test_a_full_disk_is_said_as_it_is(command, deployer) -> None:
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            program(*command),
            env={**os.environ, **deployer.env},
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            timeout=TIMEOUT_SECONDS,
            check=False,
        )
    assert done.returncode == 1
    assert "error: a disk is full" in done.stderr and "unexpected" not in done.stderr


@pytest.mark.parametrize("sink", ["/dev/full", "gone", "closed"])
def test_taking_away_goes_on_when_nobody_reads(sink, deployer) -> None:
    (deployer.directory / "home/stacks/one").mkdir(parents=True)
    redirection = {"/dev/full": ">/dev/full", "gone": "| true", "closed": ">&-"}[sink]
    done = subprocess.run(
        ["bash", "-c", f'set -o pipefail; "$@" {redirection}', "bash", *program("down", "one")],
        env={**os.environ, **deployer.env},
        capture_output=True,
        text=True,
        timeout=TIMEOUT_SECONDS,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert list((deployer.directory / "home/stacks").iterdir()) == []


@pytest.mark.parametrize("region", ["cn-mars-1", "cn-northwst-1", "us-moon-9"])
@pytest.mark.parametrize("command", [["ls"], ["down", "demo"], ["tunnel", "demo"]])
def test_a_region_of_the_right_form_must_exist_too(deployer, command, region) -> None:
    for ran in (deployer(*command, "--region", region), deployer(*command, DEPLOYER_REGION=region)):
        assert ran.code == 2
        assert f'no AWS partition has a region "{region}"' in ran.err and "cn-northwest-1" in ran.err
    assert 'did you mean "cn-northwest-1"?' in deployer("ls", "--region", "cn-northwst-1").err
    assert "where: DEPLOYER_REGION" in deployer("ls", DEPLOYER_REGION=region).err


@pytest.mark.parametrize("command", ["up", "down"])
def test_a_wait_needs_its_unit(deployer, command) -> None:
    ran = deployer(command, "demo", "--lock-wait", "5")
    assert ran.code == 2 and "90s, 5m, 1h" in ran.err
