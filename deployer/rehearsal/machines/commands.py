"""Programs of the machine that must never be the computer's own: systemctl, shutdown, apt-get, iptables and their kin.

Each is a small script in the machine's own bin folder, first on PATH, that hands its words to the machine over HTTP.
Without them an agent that powers its instance off would power off the computer that rehearses, and one that installs
docker would install it there.
"""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Callable, Sequence
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import ClassVar

from deployer.rehearsal.loopback_http import LoopbackServer

NAMES = (
    *("systemctl", "shutdown", "poweroff", "reboot", "halt"),
    *("apt-get", "dnf", "yum", "modprobe", "nvidia-ctk", "iptables", "ip6tables"),
)
#: The computer's own would set a PATH of its own, on which its own systemctl comes first.
_SUDO = '#!/bin/sh\n[ "$1" = -n ] && shift\nexec "$@"\n'
Run = Callable[[Sequence[str]], tuple[int, str]]

_CLIENT = """\
import http.client, json, sys
connection = http.client.HTTPConnection(sys.argv[1], timeout=120)
connection.request("POST", "/", json.dumps(sys.argv[2:]))
answer = json.loads(connection.getresponse().read())
if answer["text"]:
    print(answer["text"], file=sys.stdout if answer["code"] == 0 else sys.stderr)
sys.exit(answer["code"])
"""


class Commands:
    """Answers the scripts from construction to close(). run: program name and arguments -> exit status, text."""

    def __init__(self, address: str, run: Run) -> None:
        # In a tuple, so that the class does not take the function for a method.
        handler = type("Handler", (_Handler,), {"run": (run,)})
        self._server = LoopbackServer(address, handler, name="commands")

    def install(self, folder: Path) -> None:
        """Put the scripts into a folder."""
        client = folder / "commands.py"
        client.write_text(_CLIENT, encoding="utf-8")
        where = self._server.url.removeprefix("http://")
        sudo = folder / "sudo"
        sudo.write_text(_SUDO, encoding="utf-8")
        sudo.chmod(0o755)
        for name in NAMES:
            words = shlex.join([sys.executable, "-I", "-S", str(client), where, name])
            script = folder / name
            script.write_text(f'#!/bin/sh\nexec {words} "$@"\n', encoding="utf-8")
            script.chmod(0o755)

    def close(self) -> None:
        """Stop answering."""
        self._server.close()


class _Handler(BaseHTTPRequestHandler):
    run: ClassVar[tuple[Run]]

    def do_POST(self) -> None:
        words = json.loads(self.rfile.read(int(self.headers.get("Content-Length", "0"))))
        code, text = self.run[0](words)
        body = json.dumps({"code": code, "text": text}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Nothing."""
