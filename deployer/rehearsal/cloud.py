"""The embedded AWS: moto's app behind the fidelity rules, on one loopback port, with machines behind its instances."""

from __future__ import annotations

import io
import sys
import traceback
from collections.abc import Callable, Iterable
from functools import lru_cache
from http import HTTPStatus
from typing import Any

from deployer.clock import Clock, SystemClock
from deployer.rehearsal.control import Control
from deployer.rehearsal.fidelity import offerings
from deployer.rehearsal.fidelity.call import Call, Refusal, Reply, compose, error_reply, parse
from deployer.rehearsal.fidelity.consistency import Consistency
from deployer.rehearsal.fidelity.faults import FaultRule
from deployer.rehearsal.fidelity.fleet import Fleet
from deployer.rehearsal.fidelity.metadata import ROLE_KEY_PREFIX
from deployer.rehearsal.fidelity.options import Options
from deployer.rehearsal.fidelity.ruleset import rules_of
from deployer.rehearsal.fidelity.world import World
from deployer.rehearsal.guard import Escapes, Guard, guarded
from deployer.rehearsal.hypervisors import NoMachines
from deployer.rehearsal.inventory import Inventory
from deployer.rehearsal.machines.base import Hypervisor
from deployer.rehearsal.record import Record
from deployer.rehearsal.regions import Regions
from deployer.rehearsal.wsgi import StartResponse, WsgiServer

#: AWS's own example account.
ACCOUNT = "111122223333"
REGION = "cn-northwest-1"
ACCESS_KEY = "AKIAIOSFODNN7EXAMPLE"
SECRET_KEY = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"  # noqa: S105 - AWS's documentation example
#: What the rules emulate for AWS is only true of these; moto answers the others as they are.
_PRELOADED = ("ec2", "iam", "ssm", "sts")


class Cloud:
    """Serves from construction until `close`. Several clouds in one process are apart by their account.

    machines: given the URLs of the cloud and of the network guard, makes the hypervisor.
    on_stop: called when the control API is asked to stop.
    """

    def __init__(
        self,
        *,
        machines: Callable[[str, str], Hypervisor] = lambda _url, _guard: NoMachines(),
        account: str = ACCOUNT,
        clock: Clock | None = None,
        options: Options | None = None,
        on_stop: Callable[[], None] | None = None,
    ) -> None:
        self.clock = clock or SystemClock()
        self.record = Record()
        self.escapes = Escapes(self.clock)
        self.guard = Guard(self.escapes)
        self._ready = False
        self._server = WsgiServer(self.app)
        self.url = self._server.url
        self.world = World(account, self.clock, machines(self.url, self.guard.url), options or Options())
        self.fleet = Fleet(self.world)
        self.inventory = Inventory(account, self.fleet)
        self.faults = FaultRule(self.clock)
        self._moto = _moto_app()
        self._regions = Regions(self.world, self.fleet, self.inventory, consistency := Consistency(self.world))
        self._work = compose(rules_of(self.world, self.fleet, self.faults, consistency), self._forward)
        self._control = Control(self, on_stop)
        for service in _PRELOADED:
            self._regions.prepare(service, REGION)
        self._ready = True

    def env(self) -> dict[str, str]:
        """Ordinary AWS configuration that points a client here, and a proxy that lets nothing out."""
        return {
            "AWS_ENDPOINT_URL": self.url,
            "AWS_ACCESS_KEY_ID": ACCESS_KEY,
            "AWS_SECRET_ACCESS_KEY": SECRET_KEY,
            "AWS_REGION": REGION,
            "AWS_DEFAULT_REGION": REGION,
            "AWS_EC2_METADATA_DISABLED": "true",
            **guarded(self.guard.url),
            "NO_PROXY": "127.0.0.1,localhost",
            "no_proxy": "127.0.0.1,localhost",
        }

    def status(self) -> dict[str, list[str]]:
        """The inventory of this moment."""
        with self.world.lock:
            self.fleet.settle()
            return self.inventory.document()

    def close(self) -> None:
        """Take no more calls, halt every machine, stop serving."""
        self._ready = False
        self.world.hypervisor.close()
        self.guard.close()
        self._server.close()

    def app(self, environ: dict[str, Any], start_response: StartResponse) -> Iterable[bytes]:
        """The whole cloud as one WSGI application."""
        body: bytes = environ["wsgi.input"].read()
        if not self._ready:
            reply = Reply(503, "text/plain", b"not serving now\n")
        elif environ["PATH_INFO"].startswith(Control.PREFIX):
            reply = self._control.answer(environ, body)
        elif (call := parse(environ, body)) is None:
            self.escapes.add("unhandled", f"{environ['REQUEST_METHOD']} {environ['REQUEST_URI']}")
            reply = Reply(403, "text/plain", b"unsigned request to the rehearsal's AWS\n")
        else:
            reply = self._recorded(call)
        headers = [("Content-Type", reply.content_type), *reply.headers]
        start_response(f"{reply.status} {HTTPStatus(reply.status).phrase}", headers)
        return [reply.body]

    def _recorded(self, call: Call) -> Reply:
        started, before = self.clock.now(), self.clock.monotonic()
        reply: Reply | None = None
        try:
            reply = self._work(call)
        except Refusal as refusal:
            reply = error_reply(call, refusal)
        finally:
            caller = call.access_key if call.access_key.startswith(ROLE_KEY_PREFIX) else "operator"
            seconds = self.clock.monotonic() - before
            self.record.add(call, reply, caller=caller, started=started, seconds=seconds)
        return reply

    def _forward(self, call: Call) -> Reply:
        """Let moto do the work, in this cloud's account."""
        try:
            environ = _environ(call, self.world.account)
            self._regions.prepare(_module(self._moto, environ), call.region)
            return _through_wsgi(self._moto, environ)
        except Refusal:
            raise
        except Exception as error:
            traceback.print_exc(file=sys.stderr)
            self.escapes.add("unhandled", f"{call.service} {call.operation}: {type(error).__name__}: {error}")
            raise Refusal(
                "NotEmulated", f"the rehearsal does not emulate {call.service} {call.operation}", 501
            ) from error


def _moto_app() -> Any:
    from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app

    offerings.seed()
    app = DomainDispatcherApplication(create_backend_app)
    # For each call moto lists its own package to see whether the host is one of its modules: most of a call's time.
    app.get_backend_for_host = lru_cache(maxsize=256)(app.get_backend_for_host)
    return app


def _environ(call: Call, account: str) -> dict[str, Any]:
    return dict(call.environ) | {
        "wsgi.input": io.BytesIO(call.body),
        "CONTENT_LENGTH": str(len(call.body)),
        "HTTP_X_MOTO_ACCOUNT_ID": account,
    }


def _module(app: Any, environ: dict[str, Any]) -> str:
    """Moto's name for the service of a signed request, found as moto finds it. Raises LookupError when it has none."""
    host = app.infer_service_region_host(environ, environ["PATH_INFO"])
    module = app.get_backend_for_host(host)
    if module is None:
        raise LookupError(f"moto has nothing for {host}")
    return str(module)


def _through_wsgi(app: Any, environ: dict[str, Any]) -> Reply:
    started: list[tuple[str, list[tuple[str, str]]]] = []

    def start_response(status: str, headers: list[tuple[str, str]], _exc: object = None) -> None:
        started.append((status, headers))

    body = b"".join(app(environ, start_response))
    status, headers = started[0]
    kind = next((value for name, value in headers if name.lower() == "content-type"), "")
    ours = {"content-type", "date", "server"}
    if environ["REQUEST_METHOD"] != "HEAD":
        # The answer to HEAD has the length of a body that is not sent.
        ours.add("content-length")
    others = tuple((n, v) for n, v in headers if n.lower() not in ours)
    return Reply(int(status.split()[0]), kind, body, others)
