"""The embedded ECR with a real registry behind it: what docker pushes there, ECR's API shows, as in AWS."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from tests.box.docker.daemon import Docker

#: Other than everybody's loopback address, for a registry named without a port answers on HTTP's own.
ADDRESS = "127.77.0.1"
PORT = 80

# ECR's API learns of a push by itself. A build uses the host's network: the daemon has no bridge of its own.
_DOCKER = """#!{python}
import base64, http.client, os, subprocess, sys
os.environ.update({environ!r})
words = sys.argv[1:]
if words[0] == "build":
    words[1:1] = ["--network", "host"]
code = subprocess.run([{real!r}, "--host", {host!r}, *words]).returncode
if code == 0 and "push" in words:
    import boto3
    name, _, tag = words[-1].rpartition(":")
    repository = name.partition("/")[2]
    ecr = boto3.client("ecr")
    token = ecr.get_authorization_token()["authorizationData"][0]["authorizationToken"]
    asked = http.client.HTTPConnection({address!r}, {port})
    kind = "application/vnd.docker.distribution.manifest.v2+json"
    headers = {{"Authorization": "Basic " + token, "Accept": kind}}
    asked.request("GET", "/v2/" + repository + "/manifests/" + tag, headers=headers)
    answer = asked.getresponse()
    digest = answer.headers["Docker-Content-Digest"]
    manifest = answer.read().decode()
    try:
        ecr.put_image(repositoryName=repository, imageTag=tag, imageManifest=manifest, imageDigest=digest)
    except ecr.exceptions.ImageAlreadyExistsException:
        pass
sys.exit(code)
"""


def client(docker: Docker, folder: Path, environ: dict[str, str] | None = None) -> None:
    """A `docker` in the folder. environ: of its calls to ECR, where its own has no credentials."""
    folder.mkdir(parents=True, exist_ok=True)
    text = _DOCKER.format(
        python=sys.executable,
        real=shutil.which("docker"),
        host=docker.host,
        address=ADDRESS,
        port=PORT,
        environ=environ or {},
    )
    (folder / "docker").write_text(text)
    (folder / "docker").chmod(0o755)
