"""AWS takes a spot instance back: two minutes' notice, in which requests in flight end and no new ones begin."""

from __future__ import annotations

import calendar
import contextlib
import socket
import subprocess
import time
from typing import Any

from . import imds
from .config import Config
from .console import Console
from .engine import EngineProcess
from .stop import Stop

#: Before the end, for ending an engine that does not want to and for the last line on the console.
MARGIN_SECONDS = 12.0
_POLL_SECONDS = 0.2
_REJECT = "-I INPUT -p tcp --dport %d --syn -j REJECT --reject-with tcp-reset"


class Interruption:
    """Watches for the notice. ends_at: when AWS ends the instance, seconds since the epoch; None: nobody said so."""

    def __init__(self, config: Config, console: Console, process: EngineProcess, stop: Stop) -> None:
        self.ends_at: float | None = None
        self._config = config
        self._console = console
        self._process = process
        self._stop = stop

    def watch(self) -> None:
        """Until the notice, then until nobody is served any more. Raises Stopped."""
        told = False
        while self.ends_at is None:
            with contextlib.suppress(imds.MetadataError, ValueError, KeyError):
                notice = imds.document("spot/instance-action")
                if notice:
                    self._take(notice)
                elif not told and imds.document("events/recommendations/rebalance"):
                    told = True
                    self._console.say("interruption", "progress", "AWS says that a notice is more likely than usual")
            self._stop.pause(self._config.spot_poll_s)

    def _take(self, notice: dict[str, Any]) -> None:
        ends_at = float(calendar.timegm(time.strptime(notice["time"], "%Y-%m-%dT%H:%M:%SZ")))
        self.ends_at = ends_at
        busy = self._connections()
        detail = {"action": notice.get("action"), "ends_at": ends_at, "connections": busy}
        text = "AWS takes this spot instance back in %d s: no new requests, %d connections are served to their end"
        self._console.say("interruption", "start", text % (ends_at - time.time(), busy), detail=detail)
        problem = self._shut()
        if problem:
            self._console.say("interruption", "progress", "new requests cannot be turned away: " + problem)
        began = time.time()
        deadline = ends_at - MARGIN_SECONDS
        while busy and time.time() < deadline:
            self._stop.pause(_POLL_SECONDS)
            busy = self._connections()
        self._process.close()
        detail["connections"] = busy
        text = "drained after %d s, %d connections were cut; the engine has ended" % (time.time() - began, busy)
        self._console.say("interruption", "done", text, detail=detail)

    def _shut(self) -> str:
        """Refuse new connections, so that health checks fail and clients go elsewhere; why not, when that fails."""
        problem = ""
        for program in ("iptables", "ip6tables") if ":" in self._config.host else ("iptables",):
            command = [program, "-w", *(_REJECT % self._config.port).split()]
            try:
                done = subprocess.run(command, capture_output=True, text=True, check=False)
            except OSError as error:
                problem = str(error)
            else:
                problem = done.stderr.strip() if done.returncode else problem
        return problem

    def _connections(self) -> int:
        """Open ones of clients; llama-server closes those that are idle after seconds. 0 where nobody can tell."""
        host, port = self._config.host, ":%04X" % self._config.port
        ours = ""
        with contextlib.suppress(OSError):
            ours = socket.inet_aton(host)[::-1].hex().upper() if host != "0.0.0.0" else ""  # noqa: S104
        count = 0
        for path in ("/proc/net/tcp", "/proc/net/tcp6"):
            with contextlib.suppress(OSError), open(path, encoding="ascii") as table:
                for line in table.readlines()[1:]:
                    local, _, state = line.split()[1:4]
                    # 01 is ESTABLISHED.
                    count += state == "01" and local.endswith(port) and local.startswith(ours)
        return count
