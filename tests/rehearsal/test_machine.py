"""Whole machines: what runs on them, what they say, and that nothing of them is left."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
import urllib.request

import pytest

from deployer.access import host_keys
from deployer.errors import CapacityError
from deployer.rehearsal.machines import processes
from deployer.rehearsal.machines.addresses import Addresses
from deployer.rehearsal.machines.base import MachineLaunch
from deployer.rehearsal.machines.process import ProcessHypervisor, machines_folder, reap
from deployer.rehearsal.tiny_model import Variant
from tests.rehearsal import boxes
from tests.support.clock import FakeClock
from tests.support.waiting import until


def members(tmp_path) -> list[int]:
    return processes.members(str(machines_folder(tmp_path / "state")))


def first_words(machine) -> dict:
    until(lambda: boxes.said(machine), "the box speaking")
    return json.loads(boxes.said(machine)[0])


def test_a_machine_runs_its_unit_and_says_its_host_key(hypervisor, tmp_path):
    machine = boxes.boot(hypervisor, boxes.user_data(arguments="'two words' ${A} %%", more='Environment="A=b c"'))
    assert machine.state == "running"
    words = first_words(machine)
    root = str(machine.root)
    assert words["argv"] == ["two words", "b c", "%"]
    assert (words["deployer"], words["cwd"]) == ("not found", root)
    env = words["env"]
    assert env["PYTHONPATH"] == f"{root}/opt/box"
    assert (env["DEPLOYER_AGENT_ROOT"], env["DEPLOYER_AGENT_BIND"]) == (root, machine.launch.address)
    assert env["AWS_ENDPOINT_URL"] == "http://127.0.0.1:9"
    assert env["AWS_EC2_METADATA_SERVICE_ENDPOINT"] == machine.metadata_url
    assert machine.launch.address in env["no_proxy"].split(",")
    assert not {"AWS_SECRET_ACCESS_KEY", "VIRTUAL_ENV", "PYTEST_CURRENT_TEST"} & set(env)
    (key,) = host_keys.from_console(machine.console().decode())
    assert (machine.root / "etc/ssh/ssh_host_ed25519_key.pub").read_text().startswith(key)
    assert (machine.root / "etc/ssh/ssh_host_ed25519_key").stat().st_mode & 0o777 == 0o600
    assert "cloud-init finished" in machine.console().decode()


def test_halt_ends_everything_and_keeps_the_console(hypervisor, tmp_path):
    machine = boxes.boot(hypervisor, boxes.user_data())
    first_words(machine)
    url = machine.metadata_url
    machine.halt()
    machine.halt()
    assert machine.state == "halted"
    assert members(tmp_path) == []
    assert not machine.root.parent.exists()
    assert boxes.said(machine)[-1] == "bye"
    assert machine.console().decode().endswith("Power down\n")
    with pytest.raises(OSError):
        urllib.request.urlopen(url, timeout=2)
    machine.reboot()
    assert machine.state == "halted"


def test_a_reboot_keeps_files_key_and_enabled_units_but_not_what_lies_in_memory(hypervisor):
    machine = boxes.boot(hypervisor, boxes.user_data())
    first_words(machine)
    (machine.root / "var/lib/kept").write_text("kept")
    (machine.root / "run/gone").write_text("gone")
    machine.reboot()
    until(lambda: len(boxes.said(machine)) == 3, "the box speaking again")
    assert boxes.said(machine)[1] == "bye"
    assert (machine.root / "var/lib/kept").read_text() == "kept"
    assert not (machine.root / "run/gone").exists()
    keys = host_keys.from_console(machine.console().decode())
    assert len(set(keys)) == 1
    assert machine.state == "running"


def test_a_stop_keeps_disk_and_address_for_the_next_boot_and_a_halt_does_not(hypervisor, tmp_path):
    machine = boxes.boot(hypervisor, boxes.user_data())
    first_words(machine)
    (machine.root / "var/lib/kept").write_text("kept")
    (machine.root / "run/gone").write_text("gone")
    # What user-data wrote is written once in the life of an instance.
    (machine.root / "opt/box/changed").write_text("changed")
    machine.stop()
    machine.stop()
    assert (machine.state, members(tmp_path)) == ("halted", [])
    assert not Addresses().claim(machine.launch.address)

    again = hypervisor.boot(machine.launch)
    until(lambda: len(boxes.said(again)) == 3, "the box speaking again")
    assert (again.root / "var/lib/kept").read_text() == "kept"
    assert (again.root / "opt/box/changed").exists()
    assert not (again.root / "run/gone").exists()
    assert len(set(host_keys.from_console(again.console().decode()))) == 1

    again.stop()
    again.halt()
    assert not again.root.exists()
    freed = Addresses()
    assert freed.claim(machine.launch.address)
    freed.close()
    assert boxes.said(again)[-1] == "bye"


def test_a_crashing_unit_is_started_again_until_the_limit(hypervisor):
    program = 'import os; open(os.environ["DEPLOYER_AGENT_ROOT"] + "/starts", "a").write("x"); raise SystemExit(3)'
    more = "Restart=on-failure\nRestartSec=10ms\nStartLimitBurst=3"
    machine = boxes.boot(hypervisor, boxes.user_data(program, more=more))
    until(lambda: b"repeated too quickly" in machine.console(), "the limit of starts")
    assert (machine.root / "starts").read_text() == "xxx"
    assert b"Main process exited, code=exited, status=3" in machine.console()
    assert machine.systemctl("is-active", "box") == (3, "failed")


def test_a_clean_end_is_not_started_again(hypervisor):
    machine = boxes.boot(
        hypervisor, boxes.user_data("raise SystemExit(143)", more="SuccessExitStatus=143\nRestart=on-failure")
    )
    until(lambda: machine.systemctl("is-active", "box")[1] == "inactive", "the end")
    assert b"exited" not in machine.console()


def test_a_killed_main_process_takes_its_children_with_it_and_comes_back(hypervisor, tmp_path):
    program = boxes.PROGRAM.replace(
        "done = ", "import subprocess\nsubprocess.Popen(['sleep', '60'], start_new_session=True)\ndone = "
    )
    machine = boxes.boot(hypervisor, boxes.user_data(program, more="Restart=on-failure\nRestartSec=10ms"))
    first_words(machine)
    until(lambda: len(members(tmp_path)) == 2, "the child")
    old = members(tmp_path)
    os.kill(machine._init.service("box").pid, signal.SIGKILL)
    until(lambda: len(boxes.said(machine)) == 2 and len(members(tmp_path)) == 2, "the restart")
    assert not set(old) & set(members(tmp_path))
    assert b"code=killed, status=9/KILL" in machine.console()


def test_a_unit_that_ignores_sigterm_is_killed_after_its_patience(hypervisor, tmp_path):
    program = boxes.PROGRAM.replace("lambda *_: done.set()", "signal.SIG_IGN")
    machine = boxes.boot(hypervisor, boxes.user_data(program, more="TimeoutStopSec=200ms"))
    first_words(machine)
    machine.halt()
    assert members(tmp_path) == []
    assert len(boxes.said(machine)) == 1


def test_commands_that_are_not_the_machines_own_are_refused_aloud(hypervisor):
    commands = [["rm", "-rf", "/"], "curl http://x | sh", ["systemctl", "start", "nothing"], "systemctl daemon-reload"]
    machine = boxes.boot(hypervisor, boxes.user_data(runcmd=commands))
    errors = [line for line in machine.console().decode().splitlines() if "cloud-init: ERROR" in line]
    assert len(errors) == 3
    assert "Unit nothing.service not found." in errors[2]
    assert machine.state == "running"


def test_bad_user_data_leaves_a_machine_without_units(hypervisor):
    machine = boxes.boot(hypervisor, b"#!/bin/sh\nreboot\n")
    assert b"user-data is not used: only #cloud-config" in machine.console()
    assert machine.state == "running"


POWER_OFF = """
import os, shutil, signal, subprocess, sys
program = shutil.which(sys.argv[1])
# Never the computer's own.
assert program.startswith(os.path.dirname(os.environ["DEPLOYER_AGENT_ROOT"]) + "/bin/"), program
subprocess.run([program, *sys.argv[2:]], check=True)
signal.pause()
"""


INSTALL = """
import os, shutil, signal, subprocess, sys
with open(os.environ["DEPLOYER_AGENT_ROOT"] + "/dev/console", "a") as console:
    for name in ("apt-get", "dnf", "yum", "modprobe", "nvidia-ctk", "iptables"):
        program = shutil.which(name)
        assert program.startswith(os.path.dirname(os.environ["DEPLOYER_AGENT_ROOT"]) + "/bin/"), program
        done = subprocess.run([program, "--version"], capture_output=True, text=True)
        console.write("box: %d %s" % (done.returncode, done.stderr))
signal.pause()
"""


def test_what_a_machine_installs_is_never_installed_on_the_computer(hypervisor):
    machine = boxes.boot(hypervisor, boxes.user_data(INSTALL))
    until(lambda: len(boxes.said(machine)) == 6, "every program being refused")
    assert (
        boxes.said(machine)[0] == "127 apt-get: a process machine installs nothing, loads no module and has no firewall"
    )
    assert all(line.startswith("127 ") for line in boxes.said(machine))


@pytest.mark.parametrize("command", ["systemctl poweroff", "shutdown -h now", "poweroff"])
def test_a_machine_powers_itself_off_and_only_itself(hypervisor, tmp_path, command):
    machine = boxes.boot(hypervisor, boxes.user_data(POWER_OFF, arguments=command))
    until(lambda: machine.state == "halted", "the machine being off")
    assert members(tmp_path) == []


def test_an_absolute_systemctl_in_a_unit_is_the_machines_own(hypervisor):
    files = {
        "/etc/systemd/system/end.service": "[Service]\nType=oneshot\nExecStart=/usr/bin/systemctl poweroff\n",
        "/etc/systemd/system/end.timer": "[Timer]\nOnCalendar=2001-01-01 00:00:00 UTC\nPersistent=true\n"
        "[Install]\nWantedBy=timers.target\n",
    }
    runcmd = [["systemctl", "enable", "--now", "--no-block", "end.timer"]]
    machine = boxes.boot(hypervisor, boxes.user_data(files=files, runcmd=runcmd))
    until(lambda: machine.state == "halted", "the timer ending the machine")


def test_a_timer_that_the_end_of_a_unit_starts_ends_the_machine(hypervisor):
    files = {
        "/etc/systemd/system/end.service": "[Service]\nType=oneshot\nExecStart=/usr/bin/systemctl poweroff\n",
        "/etc/systemd/system/end.timer": "[Timer]\nOnActiveSec=600ms\n",
    }
    more = "Restart=on-failure\nRestartSec=10ms\nExecStopPost=-/usr/bin/systemctl start --no-block end.timer"
    # Each end starts the timer; it counts from the first one.
    machine = boxes.boot(hypervisor, boxes.user_data("raise SystemExit(3)", files=files, more=more))
    until(lambda: machine.state == "halted", "the timer ending the machine")
    assert machine.console().count(b"status=3") > 1


def test_a_time_to_live_follows_the_clock(tmp_path):
    clock = FakeClock()
    hypervisor = ProcessHypervisor(tmp_path / "state", cloud_url="http://127.0.0.1:9", environ={}, clock=clock)
    try:
        machine = boxes.boot(hypervisor, boxes.user_data(runcmd=["shutdown -P +60"]))
        threading.Event().wait(0.3)
        assert machine.state == "running"
        clock.sleep(3601)
        until(lambda: machine.state == "halted", "the machine being off")
    finally:
        hypervisor.close()


def test_machines_run_beside_each_other_and_close_ends_all(hypervisor, tmp_path):
    machines = [boxes.boot(hypervisor, boxes.user_data(), number) for number in range(3)]
    assert len({machine.launch.address for machine in machines}) == 3
    for machine in machines:
        assert first_words(machine)["env"]["DEPLOYER_AGENT_BIND"] == machine.launch.address
    machines[1].halt()
    assert len(members(tmp_path)) == 2
    hypervisor.close()
    assert members(tmp_path) == []
    assert {machine.state for machine in machines} == {"halted"}


def test_an_address_is_given_once_and_comes_back_with_the_end(hypervisor):
    machine = boxes.boot(hypervisor, boxes.user_data())
    address = machine.launch.address
    other = Addresses()
    assert not other.claim(address)
    with pytest.raises(CapacityError):
        ProcessHypervisor(machine.root.parent, cloud_url="x", environ={}).boot(
            MachineLaunch("i-9", address, b"", {}, 1, 1)
        )
    machine.halt()
    assert other.claim(address)
    other.close()


def test_where_there_is_one_loopback_address_there_is_one_machine(monkeypatch, tmp_path):
    monkeypatch.setattr("deployer.rehearsal.machines.addresses._exists", lambda _address: False)
    monkeypatch.setattr("deployer.rehearsal.machines.addresses._CLAIM_PORT", 7273)
    hypervisor = ProcessHypervisor(tmp_path / "state", cloud_url="http://127.0.0.1:9", environ={})
    try:
        assert hypervisor.one_at_a_time
        assert hypervisor.allocate_address() == "127.0.0.1"
        with pytest.raises(CapacityError, match="one process machine"):
            hypervisor.allocate_address()
    finally:
        hypervisor.close()


def test_an_engine_in_a_session_of_its_own_ends_with_the_machine(hypervisor, models, tmp_path):
    start = f"""
import subprocess
words = ["llama-server", "-m", {str(models(Variant()))!r}, "-c", "512", "-t", "8", "--port", "18080"]
words += ["--host", os.environ["DEPLOYER_AGENT_BIND"]]
subprocess.Popen(words, env={{"PATH": os.environ["PATH"]}}, start_new_session=True)
"""
    program = boxes.PROGRAM.replace("done.wait", start + "done.wait")
    machine = boxes.boot(hypervisor, boxes.user_data(program, more="TimeoutStopSec=2"))
    url = f"http://{machine.launch.address}:18080/health"

    def healthy() -> bool:
        try:
            return urllib.request.urlopen(url, timeout=2).status == 200
        except OSError:
            return False

    until(healthy, "the engine on the machine")
    assert len(members(tmp_path)) == 2
    log = machine.root / "var/log/units/box.service.log"
    # The engine's log is written by a thread of its own, a moment after it answers.
    until(lambda: b"n_threads = 1\n" in log.read_bytes(), "one thread, whatever was asked for")
    machine.halt()
    assert members(tmp_path) == []
    assert not healthy()


CRASHER = """
import sys, threading
from pathlib import Path
from deployer.rehearsal.machines.process import ProcessHypervisor
from tests.rehearsal import boxes
hypervisor = ProcessHypervisor(Path(sys.argv[1]), cloud_url="http://127.0.0.1:9", environ={})
machine = boxes.boot(hypervisor, boxes.user_data())
while not boxes.said(machine):
    threading.Event().wait(0.01)
print("up", flush=True)
threading.Event().wait(60)
"""


def test_after_a_kill_9_reap_ends_what_was_left(tmp_path):
    state = tmp_path / "state"
    crasher = subprocess.Popen([sys.executable, "-c", CRASHER, str(state)], stdout=subprocess.PIPE)
    assert crasher.stdout.readline() == b"up\n"
    crasher.kill()
    crasher.wait()
    (left,) = members(tmp_path)
    bystander = subprocess.Popen(["sleep", "60"], cwd=machines_folder(state))
    try:
        assert reap(state) == 1
        assert not os.path.exists(f"/proc/{left}") or members(tmp_path) == []
        assert not machines_folder(state).exists()
        assert bystander.poll() is None
        assert reap(state) == 0
    finally:
        bystander.kill()
        bystander.wait()


def test_the_boot_is_fast(hypervisor):
    best = min(_seconds_to_first_word(hypervisor, number) for number in range(3))
    # A bound for a busy two-core machine; a quiet one needs about 0.1 s.
    assert best < 1.0


def _seconds_to_first_word(hypervisor, number) -> float:
    began = time.monotonic()
    first_words(boxes.boot(hypervisor, boxes.user_data(), number))
    return time.monotonic() - began
