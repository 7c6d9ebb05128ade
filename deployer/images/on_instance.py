"""Build an image on a short-lived instance of the right architecture in the region, and push it from there.

The builder is a stack like any other: record, lease, tags and time to live, so `ls` shows it, `down` takes it away, and
it ends by itself when nobody is left to do so. It is taken down on every way out.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from deployer.access.errors import SshError
from deployer.aws import ecr
from deployer.catalog import registry
from deployer.clock import Clock
from deployer.decide.decide import decide
from deployer.decide.types import Deployment
from deployer.errors import RefusedError
from deployer.events import Emit, Event, Json
from deployer.images.build import Bases, BuildFailed
from deployer.images.builder import Builder
from deployer.images.commands import Done
from deployer.images.recipe import Recipe
from deployer.images.remote import Remote
from deployer.images.smoke import smoke_test
from deployer.render.dockerfiles import dockerfile
from deployer.settings import Settings
from deployer.spec.load import parse_spec

if TYPE_CHECKING:
    from deployer.access.ssh import SshSession
    from deployer.reconcile.operation import Operation

#: Sixteen cores: llama.cpp takes minutes there, its CUDA kernels half an hour (estimate).
TYPES = {"arm64": "c8g.4xlarge", "x86_64": "c8i.4xlarge"}
_TTL = "3h"
_VOLUME_GIB = 80
_LOGIN_SECONDS = 300.0
_FOLDER = "/var/lib/deployer-build"
_INSTALL = (
    "command -v docker >/dev/null || dnf install -y -q docker || "
    "{ apt-get update -q && apt-get install -y -q docker.io; }; "
    "docker version >/dev/null 2>&1 || systemctl start docker"
)


@dataclass(frozen=True)
class Order:
    """What is to be built. instance_type: None takes the usual one of the architecture."""

    recipe: Recipe
    source: Path
    bases: Bases
    model: Path | None
    instance_type: str | None = None

    @property
    def stack(self) -> str:
        """The builder's name; one for each recipe, so that an interrupted build's is found again."""
        return re.sub(r"[^a-z0-9-]", "-", f"builder-{self.recipe.tag}")[:32].rstrip("-")


def build_on_instance(order: Order, settings: Settings, region: str, *, clock: Clock, emit: Emit) -> dict[str, Json]:
    """Build, try, push; what is there now. Raises BuildFailed, SshError, and whatever `up` and `down` raise.

    After Ctrl-C and after a failure the builder is taken down first; a `down` that fails too says what remains.
    """
    from deployer.targets.ec2 import Ec2Target

    done: dict[str, Json] = {}

    def work(op: Operation, deployment: Deployment, instance_id: str) -> None:
        with _login(op, instance_id) as session:
            done.update(_work(order, op, Remote(session), clock, emit))

    target = Ec2Target(settings, region, clock, _without_endpoint(emit), verify=work)
    try:
        target.up(builder_stack(order, region, settings))
    finally:
        target.down(order.stack)
    return done


def builder_stack(order: Order, region: str, settings: Settings) -> Deployment:
    """The builder as a stack. Its engine never starts: there is no llama-server on it, which is what it is for."""
    document = {
        "name": order.stack,
        "target": "ec2",
        "region": region,
        "instance": {
            "type": order.instance_type or TYPES[order.recipe.build.architecture],
            "root_volume": {"size_gib": _VOLUME_GIB},
        },
        "model": {"name": "Qwen3.6-35B-A3B", "quant": "UD-Q4_K_M"},
        "engine": {"runtime": "process", "context": 4096},
        "lifetime": {"ttl": _TTL},
    }
    # Only of the environment: what was --set is meant for the stack that the image is for.
    overrides = Settings.from_env(os.environ).overrides
    loaded = parse_spec(json.dumps(document), "builder", environ=os.environ, overrides=dict(overrides))
    return decide(loaded, settings)


def _work(order: Order, op: Operation, remote: Remote, clock: Clock, emit: Emit) -> dict[str, Json]:
    began = clock.monotonic()
    recipe = order.recipe
    arguments = [word for key, value in order.bases.arguments() for word in ("--build-arg", f"{key}={value}")]
    told = _Told(remote, op, emit)
    told("installing docker", ["sh", "-c", _INSTALL])
    files: dict[str, Path | bytes] = {"Dockerfile": dockerfile(recipe.build).encode(), "source.tar.gz": order.source}
    if order.model is not None:
        files["model/m.gguf"] = order.model
    sent = remote.send(files, _FOLDER)
    if sent.code:
        raise BuildFailed(f"sending the source failed with exit code {sent.code}:\n{sent.text}", where="builder")
    # The base may lie in the account's ECR. The login is ours and of twelve hours: the instance itself may not write.
    login = ecr.login(op.aws, registry.own_image(op.aws.partition, op.aws.region, op.aws.account, recipe.tag).registry)
    words = ["docker", "login", "--username", login.user, "--password-stdin", login.registry]
    told(f"logging in to {login.registry}", words, secret=login.password)
    told(f"building {recipe.name}", ["docker", "build", *arguments, "--tag", recipe.name, _FOLDER])
    tried = None
    if order.model is not None:
        place = Path(f"{_FOLDER}/model/m.gguf")
        builder = Builder("docker", recipe.platform, buildx=False)
        tried = smoke_test(recipe, builder, order.model, clock=clock, emit=emit, execute=told.quietly, seen_as=place)
    seconds = round(clock.monotonic() - began, 1)
    return {**_push(recipe, op, told, emit), "seconds": seconds, "smoke_test": tried}


def _push(recipe: Recipe, op: Operation, told: _Told, emit: Emit) -> dict[str, Json]:
    uri, made = ecr.ensure_repository(op.aws, registry.own_repository())
    emit(Event("image.repository", {"uri": uri, "made": made}))
    remote = f"{uri}:{recipe.tag}"
    told(f"naming {remote}", ["docker", "tag", recipe.name, remote])
    told(f"pushing {remote}", ["docker", "push", remote])
    told("logging out", ["docker", "logout", uri.partition("/")[0]])
    own = registry.own_image(op.aws.partition, op.aws.region, op.aws.account, recipe.tag)
    found = ecr.probe(op.aws, own).found
    if found is None:
        raise RefusedError(f"{remote} was pushed, but ECR does not show it", where="ecr", hint="build it again")
    return {"image": f"{remote}@{found.digest}", "digest": found.digest, "pushed": True}


class _Told:
    """Commands on the builder whose lines are shown and whose failure ends the build."""

    def __init__(self, remote: Remote, op: Operation, emit: Emit) -> None:
        self._remote = remote
        self._op = op
        self._emit = emit

    def __call__(self, what: str, argv: list[str], *, secret: str = "") -> None:
        def hidden(text: str) -> str:
            return text.replace(secret, "[redacted]") if secret else text

        def line(text: str) -> None:
            self._op.lease.check()
            self._emit(Event("image.line", {"line": hidden(text)}))

        feed: Callable[[Callable[[bytes], object]], None] | None = None
        if secret:

            def feed(write: Callable[[bytes], object]) -> None:
                write(secret.encode())

        done = self._remote.run(argv, feed=feed, on_line=line)
        if done.code:
            message = f"{what} failed with exit code {done.code}:\n{hidden(done.text)}"
            raise BuildFailed(message, where="builder", hint="the builder is taken away; run the command again")

    def quietly(self, argv: Sequence[str]) -> Done:
        """For the trial, which looks at the exit codes itself."""
        self._op.lease.check()
        return self._remote.run(argv)


def _login(op: Operation, instance_id: str) -> SshSession:
    from deployer.access.host_keys import from_console
    from deployer.access.ssh import connect
    from deployer.aws.resources import instance
    from deployer.aws.waiting import Look, wait_until
    from deployer.reconcile import record as records
    from deployer.targets.ec2_access import ssh_target

    def look() -> Look[SshSession]:
        keys = tuple(from_console(instance.console(op.aws, instance_id)))
        record = records.read(op.aws, op.names)
        found = instance.by_id(op.aws, op.names.stack, instance_id)
        if not keys or record is None or found is None:
            return Look("no host key on its console yet")
        try:
            session = connect(ssh_target(op.settings, op.names, record, found, keys))
        except SshError as error:
            if error.reason in ("host_key", "auth"):
                raise
            return Look(error.message)
        return Look("logged in", done=True, value=session)

    session = wait_until(
        look,
        clock=op.clock,
        deadline_seconds=_LOGIN_SECONDS,
        what="the builder lets us in",
        emit=op.emit,
        keep_alive=op.lease.check,
    )
    assert session is not None
    return session


def _without_endpoint(emit: Emit) -> Emit:
    """A builder serves nothing, whatever an `up` says at its end."""

    def heard(event: Event) -> None:
        if event.name not in ("endpoint", "up.summary"):
            emit(event)

    return heard
