"""Cold start on a throttled network, phase by phase: one thing after the other, both at once, and what no order beats.

Run it as root: `.venv/bin/python -m bench.cold_start [--rate MB/s]`. It needs docker, docker-registry and
the machine image of `make test-box`. The agent is the one that is sent, the image comes from a registry by its digest,
the weights from a hub with ranges; both share one line of the stated rate.
"""

from __future__ import annotations

import argparse
import socket
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path

from platformdirs import user_cache_path

from deployer.rehearsal.machines.booted import rootfs
from deployer.rehearsal.weights import WeightServer
from deployer.render.program import PACKAGE, agent_program
from tests.box.docker.daemon import ACCOUNT_HOST, dockerd, registry
from tests.box.docker.engine_image import build
from tests.unit.agent.box import Box, free_port
from tests.unit.agent.servers import Metadata

NAME = "deployer/llama-cpp:bench"
REPO, FILE = "unsloth/Qwen3.6-27B-MTP-GGUF", "m.gguf"
#: Weights are several times the image, as they are in earnest.
PADDING_MIB = 384
_CHUNK = 16 * 1024
_SECONDS = 300.0


@dataclass
class Line:
    """A line that several connections share. rate: bytes a second in all, None for no limit. carried: bytes so far."""

    rate: float | None = None
    carried: int = 0
    _free_at: float = 0.0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def carry(self, size: int) -> None:
        """Wait until so many bytes have passed."""
        with self._lock:
            self.carried += size
            if self.rate is None:
                return
            now = time.monotonic()
            self._free_at = max(now, self._free_at) + size / self.rate
            pause = self._free_at - now
        threading.Event().wait(pause)

    def lead_to(self, port: int) -> int:
        """A new port on loopback whose answers come over this line."""
        listener = socket.create_server(("127.0.0.1", 0))
        threading.Thread(target=self._serve, args=(listener, port), daemon=True).start()
        return int(listener.getsockname()[1])

    def _serve(self, listener: socket.socket, port: int) -> None:
        while True:
            client, _ = listener.accept()
            server = socket.create_connection(("127.0.0.1", port))
            # Little is kept between the two, or a throttled body would seem to have been sent at once.
            server.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4 * _CHUNK)
            threading.Thread(target=_pump, args=(client, server, lambda _: None), daemon=True).start()
            threading.Thread(target=_pump, args=(server, client, self.carry), daemon=True).start()


def _pump(source: socket.socket, target: socket.socket, carry: Callable[[int], None]) -> None:
    try:
        while data := source.recv(_CHUNK):
            carry(len(data))
            target.sendall(data)
    except OSError:
        pass
    finally:
        for end in (source, target):
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)


@dataclass(frozen=True)
class Run:
    """phases: seconds of each. total: from the agent's start to ready. carried: bytes over the line."""

    phases: dict[str, float]
    total: float
    carried: int


class Bench:
    """One registry, one docker, one hub; `start` is one cold start."""

    def __init__(self, stack: ExitStack, folder: Path, rate: float) -> None:
        machine = user_cache_path("deployer") / rootfs.rootfs_path().name
        self._folder, self._line, login = folder, Line(), Metadata().value
        port = free_port()
        stack.enter_context(registry(folder / "registry", port, "AWS", login))
        place = f"{ACCOUNT_HOST}:{self._line.lead_to(port)}"
        self._docker = docker = stack.enter_context(dockerd(place))
        build(docker, machine, folder / "context", NAME)
        self._remote = f"{place}/{NAME}"
        mine = ("--config", str(folder / "login"))
        docker(*mine, "login", "--username", "AWS", "--password-stdin", place, secret=login)
        docker("tag", NAME, self._remote)
        docker(*mine, "push", "--quiet", self._remote)
        digest = docker("image", "inspect", "--format", "{{index .RepoDigests 0}}", self._remote).partition("@")[2]
        self._image = f"{self._remote}@{digest}"
        hub = WeightServer(folder / "hub", padding_mib=PADDING_MIB).start()
        stack.callback(hub.close)
        self._served = hub.file(REPO, FILE)
        self._hub = f"http://127.0.0.1:{self._line.lead_to(int(hub.url.rpartition(':')[2]))}"
        self._metadata = stack.enter_context(Metadata())
        self._library = folder / "lib"
        (self._library / PACKAGE).mkdir(parents=True)
        (self._library / PACKAGE / "__main__.py").write_text(agent_program())
        self._line.rate = rate
        self._runs = 0

    def start(self, *, image: bool, weights: bool) -> Run:
        """Until ready. image, weights: whether it has to be fetched, else it is here already."""
        self._runs += 1
        self._forget_image(keep=not image)
        box = Box(self._folder / f"box{self._runs}", self._library)
        self._docker.client(box.root / "bin")
        engine = box.config["engine"]
        engine["image"] = self._image if image else NAME
        engine["argv"] += ["-c", "4096", "-np", "1", "--spec-type", "draft-mtp", "--spec-draft-n-max", "2", "--no-ui"]
        box.config["runtime"] = "docker"
        box.config["deadlines"] |= {"engine_load_s": _SECONDS, "ready_s": _SECONDS, "retry_s": 0.2}
        if weights:
            listing = f"{self._hub}/api/v1/models/{REPO}/repo/files?Revision=master&Recursive=true"
            box.sources(f"{self._hub}/models/{REPO}/resolve/master/{FILE}", listing=listing, kind="modelscope")
            box.config["weights"]["piece_bytes"] = 4 * 2**20
        else:
            (box.root / "models/m.gguf").unlink()
            (box.root / "models/m.gguf").hardlink_to(self._served.path)
        url = self._metadata.url
        box.environ.update(AWS_EC2_METADATA_SERVICE_ENDPOINT=url, AWS_ENDPOINT_URL_ECR=url, HOME=str(box.root))
        before, began = self._line.carried, time.monotonic()
        try:
            box.start()
            box.said("ready", "done", _SECONDS)
            total = time.monotonic() - began
        finally:
            box.close()
            self._docker("rm", "--force", "deployer-engine", check=False)
        seconds = {line["phase"]: float(line["seconds"]) for line in box.lines() if line["state"] == "done"}
        return Run(seconds, total, self._line.carried - before)

    def _forget_image(self, *, keep: bool) -> None:
        """Out of docker's store, base layers too, unless it is to be there."""
        if keep:
            if not self._docker("image", "ls", "--quiet", NAME):
                self._docker("tag", self._image, NAME)
            return
        self._docker("image", "rm", "--force", NAME, self._remote, self._image, "debian:box", check=False)
        self._docker("builder", "prune", "--all", "--force", check=False)
        self._docker("image", "prune", "--all", "--force", check=False)


def report(rate: float, bench: Bench) -> str:
    """The table, as Markdown."""
    image = bench.start(image=True, weights=False)
    weights = bench.start(image=False, weights=True)
    both = bench.start(image=True, weights=True)
    carried = image.carried + weights.carried
    rows = [("image pull", image.phases["image"], both.phases["image"], image.carried / rate)]
    rows.append(("weights", weights.phases["weights"], both.phases["weights"], weights.carried / rate))
    for name in ("boot", "runtime", "engine", "ready"):
        rows.append((name, image.phases[name], both.phases[name], 0.0))
    serial = image.total + weights.phases["weights"] - image.phases["weights"]
    rows.append(("**until ready**", serial, both.total, carried / rate))
    lines = [
        f"{rate / 1e6:.0f} MB/s for all: image {image.carried / 1e6:.0f} MB, weights {weights.carried / 1e6:.0f} MB",
        "",
        "| phase | serial, s | overlapped, s | bytes ÷ rate, s |",
        "|---|---|---|---|",
    ]
    lines += [f"| {name} | {a:.1f} | {b:.1f} | {c:.1f} |" for name, a, b, c in rows]
    return "\n".join(lines)


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rate", type=float, default=25.0, help="MB/s of the line that everything shares")
    options = parser.parse_args()
    with ExitStack() as stack:
        folder = Path(
            stack.enter_context(tempfile.TemporaryDirectory(prefix="cold-start-", ignore_cleanup_errors=True))
        )
        print(report(options.rate * 1e6, Bench(stack, folder, options.rate * 1e6)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
