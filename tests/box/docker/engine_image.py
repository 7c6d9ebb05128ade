"""An image with real llama.cpp as its llama-server, in seconds: Debian's files and the wheel, nothing is compiled."""

from __future__ import annotations

import shutil
import subprocess
from importlib.util import find_spec
from pathlib import Path

from tests.box.docker.daemon import Docker

ROOT = Path(__file__).resolve().parents[3]
_SERVER = """#!/usr/bin/python3
import sys
sys.path.insert(0, "/opt/site")
from deployer.rehearsal.engine.command import main
sys.exit(main())
"""
_DOCKERFILE = """FROM debian:box
COPY files /
USER 10001:10001
ENTRYPOINT ["/opt/llama/bin/llama-server"]
"""


def build(docker: Docker, rootfs: Path, folder: Path, name: str) -> str:
    """The image called `name`, from a machine's root file system."""
    with subprocess.Popen(["tar", "--create", "--one-file-system", "-C", rootfs, "."], stdout=subprocess.PIPE) as tar:
        command = ["docker", "--host", docker.host, "import", "-", "debian:box"]
        subprocess.run(command, stdin=tar.stdout, check=True, capture_output=True)
    site = folder / "files/opt/site"
    wheel = find_spec("xllamacpp")
    assert wheel is not None and wheel.origin is not None
    installed = Path(wheel.origin).parent
    for place in (installed, *installed.parent.glob("xllamacpp-*.dist-info")):
        shutil.copytree(place, site / place.name)
    shutil.copytree(ROOT / "deployer", site / "deployer", ignore=shutil.ignore_patterns("__pycache__"))
    server = folder / "files/opt/llama/bin/llama-server"
    server.parent.mkdir(parents=True)
    server.write_text(_SERVER)
    server.chmod(0o755)
    (folder / "Dockerfile").write_text(_DOCKERFILE)
    docker("build", "--quiet", "--tag", name, str(folder))
    return name
