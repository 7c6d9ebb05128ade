"""The control API below /_sandbox/: what exists, what was called, which faults are in force.

GET    status    inventory: {"resources": [...], "machines": [...]}, two empty lists when nothing exists
GET    calls     {"count", "calls": [{service, operation, region, caller, status, code, started, seconds}]}, ?since=N
GET    escapes   {"escapes": [{at, kind, what}]}
GET    info      {"account", "machines", "url", "options"}
GET    faults    {"faults": [...]} with how often each has struck
POST   faults    one fault or a list of them (see fidelity/faults.py); DELETE takes all away
POST   options   some of fidelity/options.py, in force at once
POST   interrupt {"tag": [key, value], "seconds"} -> {"interrupted": [instance ids]}: the spot market gives notice
POST   search    {"needle": text} -> {"places": [...]}: where that text was seen, a SecureString's own value left out
POST   stop      halt every machine and end
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs

from deployer.errors import UsageError
from deployer.rehearsal.fidelity.call import Reply
from deployer.rehearsal.fidelity.faults import Fault
from deployer.rehearsal.record import contains

if TYPE_CHECKING:
    from deployer.rehearsal.cloud import Cloud


class Control:
    """Answers the control requests of one cloud."""

    PREFIX = "/_sandbox/"

    def __init__(self, cloud: Cloud, on_stop: Callable[[], None] | None) -> None:
        self._cloud = cloud
        self._on_stop = on_stop

    def answer(self, environ: dict[str, Any], body: bytes) -> Reply:
        """The reply to one request below the prefix."""
        name = environ["PATH_INFO"].removeprefix(self.PREFIX).strip("/")
        try:
            document = json.loads(body) if body.strip() else {}
            found = self._do(environ["REQUEST_METHOD"], name, document, parse_qs(environ["QUERY_STRING"]))
        except (ValueError, KeyError, TypeError, UsageError) as error:
            return _json(400, {"error": str(error)})
        return _json(404, {"error": f"no such request: {name}"}) if found is None else _json(200, found)

    def _do(self, method: str, name: str, document: Any, query: dict[str, list[str]]) -> Any | None:
        cloud = self._cloud
        match method, name:
            case "GET", "status":
                return cloud.status()
            case "GET", "calls":
                return {"count": cloud.record.count, "calls": cloud.record.calls(int(query.get("since", ["0"])[0]))}
            case "GET", "escapes":
                return {"escapes": cloud.escapes.listing()}
            case "GET", "info":
                options = asdict(cloud.world.options)
                kind = cloud.world.hypervisor.kind
                return {"account": cloud.world.account, "machines": kind, "url": cloud.url, "options": options}
            case "GET", "faults":
                return {"faults": cloud.faults.listing()}
            case "POST", "faults":
                for item in document if isinstance(document, list) else [document]:
                    cloud.faults.arm(Fault.of(item))
                return {"faults": cloud.faults.listing()}
            case "DELETE", "faults":
                cloud.faults.clear()
                return {"faults": []}
            case "POST", "options":
                cloud.world.options = cloud.world.options.changed(document)
                return {"options": asdict(cloud.world.options)}
            case "POST", "interrupt":
                with cloud.world.lock:
                    key, value = map(str, document["tag"])
                    taken = cloud.fleet.reclaim(key, value, float(document["seconds"]))
                return {"interrupted": taken}
            case "POST", "search":
                return {"places": self._places(str(document["needle"]).encode())}
            case "POST", "stop":
                if self._on_stop is not None:
                    self._on_stop()
                return {"stopping": True}
            case _:
                return None

    def _places(self, needle: bytes) -> list[str]:
        boxes = self._cloud.fleet.boxes()
        consoles = [f"console:{box.id}" for box in boxes if contains(box.console(), needle)]
        launches = [f"user-data:{box.id}" for box in boxes if contains(box.launch.user_data, needle)]
        return [*self._cloud.record.places(needle), *launches, *consoles]


def _json(status: int, document: Any) -> Reply:
    return Reply(status, "application/json", json.dumps(document, default=dict).encode() + b"\n")
