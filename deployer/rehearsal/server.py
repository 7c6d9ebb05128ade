"""`python -m deployer.rehearsal.server`: the embedded AWS as a background process that ends when it is asked to."""

from __future__ import annotations

import argparse
import gc
import os
import signal
import sys
import threading
from collections.abc import Sequence
from pathlib import Path

from platformdirs import user_cache_path

from deployer.clock import Clock, SystemClock
from deployer.rehearsal.cloud import Cloud
from deployer.rehearsal.hypervisors import KINDS, choose, truest
from deployer.rehearsal.machines.addresses import free_ssh_port
from deployer.rehearsal.machines.base import Networked
from deployer.rehearsal.processes import ProcessId
from deployer.rehearsal.statefile import Running, reap, remove, write
from deployer.rehearsal.substitutions import substitutions
from deployer.rehearsal.weights import WeightServer

#: How often the parent is looked for, in seconds.
PARENT_POLL_SECONDS = 0.25


def main(arguments: Sequence[str] | None = None) -> int:
    """Serve until SIGTERM, SIGINT, POST /_sandbox/stop or the end of the parent. Returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m deployer.rehearsal.server")
    parser.add_argument("--state-dir", type=Path, required=True)
    parser.add_argument("--machines", choices=KINDS, default="auto")
    parser.add_argument("--parent-pid", type=int, help="end when this process is gone")
    options = parser.parse_args(arguments)
    # Loading moto makes hundreds of thousands of objects that stay; collecting while it loads costs a quarter of the
    # time until ready.
    gc.disable()
    state_dir: Path = options.state_dir.resolve()
    state_dir.mkdir(parents=True, exist_ok=True)
    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    reap(state_dir)
    _serve(state_dir, options.machines, options.parent_pid, stop, SystemClock())
    return 0


def _serve(state_dir: Path, machines: str, parent_pid: int | None, stop: threading.Event, clock: Clock) -> None:
    ssh_port = free_ssh_port()
    # Synthetic models are the same for every sandbox of a person, and kept between runs.
    weights = WeightServer(user_cache_path("deployer") / "rehearsal").start()
    cloud = Cloud(
        machines=lambda url, guard: choose(
            machines, state_dir=state_dir, cloud_url=url, guard_url=guard, ssh_port=ssh_port
        ),
        clock=clock,
        on_stop=stop.set,
    )
    try:
        parent = ProcessId.of(parent_pid) if parent_pid else None
        me = ProcessId.of(os.getpid())
        if me is None:
            raise RuntimeError("this process has no entry in the process table")
        env = cloud.env() | _product_env(state_dir, ssh_port, weights.url)
        hypervisor = cloud.world.hypervisor
        if isinstance(hypervisor, Networked):
            env |= hypervisor.client_env(env)
        told = [*substitutions(hypervisor.kind), *_less_true(machines, hypervisor.kind, state_dir)]
        write(state_dir, Running(me, cloud.url, hypervisor.kind, env, told))
        gc.freeze()
        gc.enable()
        while not stop.wait(PARENT_POLL_SECONDS if parent_pid else None):
            if parent is None or not parent.alive():
                break
    finally:
        remove(state_dir)
        cloud.close()
        weights.close()
        _keep_consoles(cloud, state_dir / "consoles")
        reap(state_dir)


def _less_true(asked: str, kind: str, state_dir: Path) -> list[str]:
    """Why `auto` took a less true kind of machine, for people."""
    if asked != "auto" or kind == "booted":
        return []
    return [f"Machines cannot be booted here: {truest(state_dir)[1]}."]


def _keep_consoles(cloud: Cloud, folder: Path) -> None:
    """The consoles outlive the machines, for whoever wants to know what happened."""
    for box in cloud.fleet.boxes():
        if text := box.console():
            folder.mkdir(exist_ok=True)
            (folder / f"{box.id}.log").write_bytes(text)


def _product_env(state_dir: Path, ssh_port: int, weights_url: str) -> dict[str, str]:
    """Configuration a person could set just as well: where keys and weights live, which runtime, which port."""
    return {
        "AWS_CONFIG_FILE": "/dev/null",
        "AWS_SHARED_CREDENTIALS_FILE": "/dev/null",
        "DEPLOYER_HOME": str(state_dir / "home"),
        "DEPLOYER_SET": f"engine.runtime=process;access.port={ssh_port}",
        "DEPLOYER_MIRROR_MODELSCOPE": weights_url,
        # The second hub has nothing (404): what fails at the first is seen to fail, and no machine asks the real one.
        "DEPLOYER_MIRROR_HF": weights_url,
        "DEPLOYER_MY_CIDR": "127.0.0.0/8",
    }


if __name__ == "__main__":
    sys.exit(main())
