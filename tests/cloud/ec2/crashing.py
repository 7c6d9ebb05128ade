"""An operator in a process of its own that dies, as by kill -9, at one of its AWS calls."""

from __future__ import annotations

import multiprocessing
import os
import threading
from typing import Any, Literal

KILLED = 137

#: A server without threads forks the victims; what they need is imported once.
_context = multiprocessing.get_context("forkserver")
_context.set_forkserver_preload(
    [
        "tests.cloud.ec2.crashing",
        "tests.cloud.ec2.warm",
        "deployer.reconcile.converge",
        "deployer.reconcile.teardown",
    ]
)


def run(
    environ: dict[str, str],
    verb: Literal["up", "down"],
    *,
    at: int | str | None = None,
    side: Literal["before", "after"] = "after",
    values: dict[str, Any] | None = None,
) -> int:
    """Run one command of a fresh process and return its exit code, KILLED when it died at the call.

    at: the number of the call (from 1) or the operation's name; None lets it live.
    """
    process = _context.Process(target=_victim, args=(environ, verb, at, side, values or {}))
    process.start()
    process.join(120)
    if process.exitcode is None:
        process.kill()
    return process.exitcode if process.exitcode is not None else -1


def _victim(environ: dict[str, str], verb: str, at: int | str | None, side: str, values: dict[str, Any]) -> None:
    os.environ.update(environ)
    from deployer.aws.session import Aws
    from deployer.errors import DeployerError
    from deployer.events import ignore
    from deployer.settings import Settings
    from deployer.targets.ec2 import Ec2Target
    from tests.cloud.ec2 import warm
    from tests.cloud.ec2.support import LeapingClock, deployment_of

    warm.use()

    count = 0
    lock = threading.Lock()
    real = Aws.call

    def call(self: Any, service: Any, operation: str, **parameters: Any) -> dict[str, Any]:
        nonlocal count
        with lock:
            count += 1
            strikes = at in (count, operation)
        if strikes and side == "before":
            os._exit(KILLED)
        try:
            return real(self, service, operation, **parameters)
        finally:
            if strikes:
                os._exit(KILLED)

    Aws.call = call  # type: ignore[method-assign]
    settings = Settings.from_env(environ)
    target = Ec2Target(settings, environ["AWS_REGION"], LeapingClock(), ignore, verify=lambda *_: None)
    try:
        if verb == "up":
            target.up(deployment_of(settings, **values))
        else:
            target.down("demo")
    except DeployerError as error:
        print(f"{error.code}: {error.message}", flush=True)
        os._exit(error.exit_code)
    os._exit(0)
