"""A dockerd and a registry of the tests' own. Neither touches this machine's network, hosts file or docker."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import tempfile
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import bcrypt

from tests.support.waiting import until

NEEDED = ("dockerd", "docker", "docker-registry", "unshare")
ACCOUNT_HOST = "111122223333.dkr.ecr.cn-northwest-1.amazonaws.com.cn"
#: Containers may not raise their limits above ours, which dockerd would try.
_LIMITS = "nofile=16384:16384"


def missing() -> str | None:
    """What this machine lacks, or None."""
    if os.geteuid() != 0:
        return "root is needed"
    lacking = [name for name in NEEDED if shutil.which(name) is None]
    return f"{', '.join(lacking)} not installed (Debian: docker.io docker-registry)" if lacking else None


@dataclass(frozen=True)
class Docker:
    """socket: where it listens."""

    socket: Path

    @property
    def host(self) -> str:
        """DOCKER_HOST."""
        return f"unix://{self.socket}"

    def __call__(self, *words: str, secret: str = "", check: bool = True) -> str:
        """Output of a docker command; an AssertionError with it when it fails."""
        done = subprocess.run(
            ["docker", "--host", self.host, *words], input=secret, capture_output=True, text=True, check=False
        )
        assert not check or done.returncode == 0, f"docker {' '.join(words)}: {done.stdout}{done.stderr}"
        return (done.stdout + done.stderr).strip()

    def client(self, folder: Path) -> None:
        """A `docker` in a folder that talks to this daemon, whatever environment it runs in."""
        real = shutil.which("docker")
        program = folder / "docker"
        program.write_text(f'#!/bin/sh\nexec {real} --host {self.host} "$@"\n')
        program.chmod(0o755)


@contextmanager
def dockerd(registry: str, *, address: str = "127.0.0.1", data: Path | None = None) -> Iterator[Docker]:
    """registry: `HOST[:PORT]` whose HOST is the address for the daemon alone, by a hosts file of its own.

    data: where it keeps images; its own, thrown away at the end, by default.
    """
    # A Unix socket's path may not be long, and pytest's folders are.
    folder = Path(tempfile.mkdtemp(prefix="dk"))
    hosts = folder / "hosts"
    hosts.write_text(f"127.0.0.1 localhost\n{address} {registry.partition(':')[0]}\n")
    command = [
        *(
            "dockerd",
            "--data-root",
            str(data or folder / "data"),
            "--exec-root",
            f"{folder}/exec",
            "--pidfile",
            f"{folder}/pid",
        ),
        *("--host", f"unix://{folder}/s", "--default-ulimit", _LIMITS, "--insecure-registry", registry),
        *("--bridge", "none", "--iptables=false", "--ip6tables=false"),
    ]
    script = f'mount --bind {hosts} /etc/hosts && exec "$@"'
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(
            ["unshare", "--mount", "sh", "-c", script, "sh", *command], stdout=log, stderr=log, start_new_session=True
        )
    docker = Docker(folder / "s")
    try:
        until(lambda: docker.socket.exists() or process.poll() is not None, "dockerd listens", seconds=30)
        assert process.poll() is None, (folder / "log").read_text()
        until(lambda: "Server" in docker("version", check=False), "dockerd answers", seconds=30)
        yield docker
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(30)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait(10)
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def registry(folder: Path, port: int, user: str, password: str, *, address: str = "127.0.0.1") -> Iterator[str]:
    """A registry on loopback that lets in one user, as ECR does; its `HOST:PORT` under ECR's name."""
    folder.mkdir()
    (folder / "users").write_bytes(user.encode() + b":" + bcrypt.hashpw(password.encode(), bcrypt.gensalt(4)) + b"\n")
    config = {
        "version": "0.1",
        "log": {"level": "error"},
        "storage": {"filesystem": {"rootdirectory": str(folder / "data")}},
        "http": {"addr": f"{address}:{port}"},
        "auth": {"htpasswd": {"realm": "tests", "path": str(folder / "users")}},
    }
    (folder / "config.yml").write_text(json.dumps(config))  # JSON is YAML
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(["docker-registry", "serve", str(folder / "config.yml")], stdout=log, stderr=log)
    try:
        until(lambda: _answers(address, port) or process.poll() is not None, "the registry answers", seconds=20)
        assert process.poll() is None, (folder / "log").read_text()
        yield f"{ACCOUNT_HOST}:{port}"
    finally:
        process.terminate()
        process.wait(10)


def _answers(address: str, port: int) -> bool:
    try:
        urllib.request.urlopen(f"http://{address}:{port}/v2/", timeout=2)
    except urllib.error.HTTPError as refused:
        return refused.code == 401
    except OSError:
        return False
    return True
