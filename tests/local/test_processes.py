from __future__ import annotations

import os
import subprocess
import sys

import pytest

from deployer.agent.processes import start_mark
from deployer.clock import SystemClock
from deployer.errors import LockedError
from deployer.targets.local_lock import stack_lock
from deployer.targets.local_process import ProcessId, end, find, identify, spawn
from tests.support.waiting import until

CLOCK = SystemClock()


def _spawn(tmp_path, script: str, *arguments: str) -> ProcessId:
    (tmp_path / "program.sh").write_text(script)
    argv = ["sh", str(tmp_path / "program.sh"), *arguments]
    return spawn(argv, log=tmp_path / "log", cwd=tmp_path, environ=os.environ)


def test_a_process_outlives_its_parent_and_is_ended(tmp_path):
    starter = (
        "import os,sys; from pathlib import Path; from deployer.targets.local_process import spawn;"
        "p = spawn(['sleep', '60'], log=Path(sys.argv[1]), cwd=Path('/'), environ=os.environ); print(p.pid, p.start)"
    )
    shown = subprocess.run(
        [sys.executable, "-c", starter, str(tmp_path / "log")], capture_output=True, text=True, check=True
    )
    pid, start = shown.stdout.split(" ", 1)
    process = identify(int(pid), start.strip())
    assert process is not None
    assert os.getsid(process.pid) == process.pid
    assert end(process, CLOCK, grace_seconds=5)
    assert identify(process.pid, process.start) is None


def test_a_reused_pid_is_never_touched(tmp_path):
    process = _spawn(tmp_path, "exec sleep 60")
    other = ProcessId(process.pid, "123")
    assert not other.alive
    assert end(other, CLOCK, grace_seconds=0)
    assert process.alive
    assert end(process, CLOCK, grace_seconds=5)


def test_who_does_not_listen_is_killed_with_its_children(tmp_path):
    process = _spawn(tmp_path, "trap '' TERM\nsleep 61 & echo $! > child\nwhile :; do sleep 1; done\n")
    until(lambda: (tmp_path / "child").exists() and (tmp_path / "child").read_text().strip(), "the child runs")
    child = int((tmp_path / "child").read_text())
    assert end(process, CLOCK, grace_seconds=0.1)
    until(lambda: start_mark(child) is None, "the child is gone")


def test_find_by_words_in_a_row(tmp_path):
    process = _spawn(tmp_path, "sleep 60", "--config", str(tmp_path / "a b.json"))
    # The kernel shows a command line a moment after the program was started.
    until(lambda: find("--config", str(tmp_path / "a b.json")) == [process], "it is found")
    assert find(str(tmp_path / "a b.json"), "--config") == []
    assert find("--config", str(tmp_path / "a b")) == []
    end(process, CLOCK, grace_seconds=5)


def test_output_goes_to_the_log_which_starts_empty(tmp_path):
    (tmp_path / "log").write_text("old")
    process = _spawn(tmp_path, "echo out; echo err >&2")
    until(lambda: not process.alive, "it ends")
    assert (tmp_path / "log").read_text() == "out\nerr\n"


def test_a_lock_is_free_again_whatever_happens(tmp_path):
    folder = tmp_path / "stacks" / "x"
    with stack_lock(folder):
        with pytest.raises(LockedError), stack_lock(folder):
            pass
        with stack_lock(tmp_path / "stacks" / "y"):
            pass
    with pytest.raises(ZeroDivisionError), stack_lock(folder):
        _ = 1 / 0
    holder = (
        "import sys, os; from pathlib import Path; from deployer.targets.local_lock import stack_lock\n"
        "with stack_lock(Path(sys.argv[1])):\n    print('held', flush=True); sys.stdin.read()"
    )
    child = subprocess.Popen([sys.executable, "-c", holder, str(folder)], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert child.stdout.readline() == b"held\n"
    with pytest.raises(LockedError, match=str(child.pid)), stack_lock(folder):
        pass
    child.kill()
    child.wait()
    child.stdin.close()
    child.stdout.close()
    with stack_lock(folder):
        pass
    assert list((tmp_path / "stacks").iterdir()) == []
