"""Failures of the machine, not of the engine's own words: its disk, memory, port, program, key and configuration."""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from deployer.clock import SystemClock
from deployer.rehearsal import tiny_model
from deployer.rehearsal.machines.booted import cgroups
from tests.box.failures.lab import GPU_SPEC, Lab, Outcome, Stack
from tests.box.failures.test_failures import Row, expect
from tests.unit.agent.servers import FileServer, Served

pytestmark = pytest.mark.box


class _Claimed(bytes):
    """Few bytes that say they are a PiB."""

    def __len__(self) -> int:
        return 1 << 50


@pytest.fixture
def hub() -> Iterator[FileServer]:
    with FileServer() as server:
        yield server


def _outcome(lab: Lab, stack: Stack, work: Callable[[Path], None]) -> Outcome:
    try:
        return stack.hold(work).outcome()
    finally:
        lab.down(stack)


def test_a_disk_that_is_too_small(lab: Lab, hub: FileServer, row: Row) -> None:
    hub.files["/big.gguf"] = Served(_Claimed(b"GGUF"))
    stack = lab.stack("disk", GPU_SPEC, f"model.source={hub.url}", "model.file=big.gguf", "engine.mtp=off")
    with lab.broken(stack) as attempt:
        outcome = attempt.outcome()
    row("the file is larger than the disk", outcome)
    expect(outcome, "weights", "disk_full", "", "root_volume.size_gib")


def test_the_key_of_an_mtp_head_without_its_tensors(lab: Lab, hub: FileServer, row: Row, tmp_path: Path) -> None:
    path = tiny_model.write_variant(tmp_path / "m.gguf", tiny_model.Variant(head="missing-tensors"))
    hub.files["/hollow.gguf"] = Served(path.read_bytes())
    sets = (f"model.source={hub.url}", "model.file=hollow.gguf", "model.mtp_head=true", "engine.mtp=on")
    stack = lab.stack("hollow", GPU_SPEC, *sets)
    with lab.broken(stack) as attempt:
        outcome = attempt.outcome()
    row("the MTP key without its tensors: SIGABRT", outcome)
    expect(outcome, "engine", "mtp_missing_in_gguf", "nextn", "engine.mtp: off")
    assert "134" in outcome.error["message"]


@pytest.mark.parametrize(
    ("what", "limit", "says"),
    [
        ("no memory for the context (KV)", 'ulimit -v 4500000; set -- "$@" -c 4000000', "failed to allocate"),
        ("no memory for the model: SIGABRT", "ulimit -v 400000", "mem_buffer"),
    ],
    ids=["kv", "host"],
)
def test_too_little_memory(lab: Lab, row: Row, what: str, limit: str, says: str) -> None:
    stack = lab.stack("memory-" + says.split("_")[0].replace(" ", "-"))
    stack.engine(limit)
    with lab.broken(stack) as attempt:
        outcome = attempt.outcome()
    row(what, outcome)
    expect(outcome, "engine", "out_of_memory", says, "engine.context")


def test_the_kernel_kills_it(lab: Lab, row: Row) -> None:
    layout = cgroups.find_layout() if os.geteuid() == 0 else None
    if layout is None:
        pytest.fail("limits of memory need root and control groups", pytrace=False)
    group = cgroups.create(layout, "deployer-test-failures", str(os.getpid()), 40)
    try:
        stack = lab.stack("killed")
        stack.engine("\n".join(f"echo $$ > {directory}/cgroup.procs" for directory in group.directories))
        with lab.broken(stack) as attempt:
            outcome = attempt.outcome()
        row("the kernel kills it: 40 MiB of memory", outcome)
        expect(outcome, "engine", "out_of_memory", "", "smaller quantisation")
        assert "137" in outcome.error["message"]
    finally:
        group.remove(SystemClock())
        for directory in group.directories:
            directory.parent.rmdir()


def test_a_port_that_another_program_has(lab: Lab, row: Row) -> None:
    stack = lab.stack("port")
    with socket.socket() as other:
        other.bind(("", stack.port))
        other.listen()
        with lab.broken(stack) as attempt:
            outcome = attempt.outcome()
    row("another program listens on the port", outcome)
    expect(outcome, "engine", "port_taken", "", "endpoint.port")


def test_no_engine_on_the_machine(lab: Lab, row: Row) -> None:
    outcome = _outcome(
        lab, lab.stack("nothing"), lambda machine: [p.unlink() for p in machine.glob("bin/*/llama-server")] and None
    )
    row("there is no llama-server *", outcome)
    expect(outcome, "runtime", "runtime_missing", "", "instance.ami")


def test_a_key_that_is_gone(lab: Lab, row: Row) -> None:
    ssm = lab.aws("ssm")
    outcome = _outcome(lab, lab.stack("keyless"), lambda _: ssm.delete_parameter(Name="/deployer/keys/keyless"))
    row("the API key's parameter is gone *", outcome)
    expect(outcome, "runtime", "key_rejected", "", "key parameter")


def _config(machine: Path, change: Callable[[dict], object]) -> None:
    path = machine / "root/etc/deployer/agent.json"
    body = json.loads(path.read_text())
    change(body)
    path.write_text(json.dumps(body))


def test_a_configuration_that_cannot_be_read(lab: Lab, row: Row) -> None:
    outcome = _outcome(lab, lab.stack("unread"), lambda machine: _config(machine, lambda body: body.pop("engine")))
    row("the agent's configuration lacks a part *", outcome)
    expect(outcome, "boot", "agent_error", "", "`deployer up`")


def test_a_load_that_is_slower_than_its_deadline(lab: Lab, row: Row) -> None:
    stack = lab.stack("slow")
    stack.engine("echo 'load_model: loading model'; sleep 600")
    outcome = _outcome(
        lab, stack, lambda machine: _config(machine, lambda body: body["deadlines"].update(engine_load_s=4))
    )
    row("the load takes longer than its deadline (set to 4 s) *", outcome)
    expect(outcome, "engine", "not_ready", "load_model: loading model", "instance.root_volume")


def test_an_engine_that_ends_again_and_again(lab: Lab, row: Row) -> None:
    stack = lab.stack("loop")
    sets = [word for one in (f"name={stack.name}", f"endpoint.port={stack.port}") for word in ("--set", one)]
    try:
        lab.sandbox.run("up", GPU_SPEC, *sets)
        stack.engine("echo 'terminate called: no luck today'; exit 7")
        process = json.loads((stack.folder / "root/var/lib/deployer/engine.json").read_text())["pid"]
        os.kill(process, 9)
        attempt = stack.up()
        outcome = attempt.outcome()
    finally:
        lab.down(stack)
    row("it ends again and again after it was ready", outcome)
    expect(outcome, "engine", "engine_exit", "no luck today", "engine.extra_args")
    assert attempt.said(phase="engine", state="restarting")
    assert "5 times" in outcome.error["message"]
