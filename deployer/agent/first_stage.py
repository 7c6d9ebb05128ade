"""What user-data carries: fetch the agent's program from SSM, prove that it is the right one, become it.

User-data is limited to 16 KiB, the program is not. Once it lies on the disk a reboot needs nobody's answer.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
import sys
import time
import zlib
from typing import Any

from .aws import AwsError, ask
from .console import Console
from .lifetime import end_or_go_on
from .protocol import AgentFailure
from .stop import Stop, Stopped

#: A new role takes seconds to be known, a network may take a minute to be there.
DEADLINE_SECONDS = 300.0
_FIRST_PAUSE, _LONGEST_PAUSE = 0.25, 5.0
#: What GetParameters takes at once.
_BATCH = 10


def main() -> int:
    """Becomes the program, or with --lifetime decides about the instance's end.

    0: stopped by a signal, or the end is later. 1: it cannot, and the console says why, or the end is now.
    """
    root, path = os.environ.get("DEPLOYER_AGENT_ROOT", ""), sys.argv[-1]
    console = Console(root + "/dev/console")
    stop = Stop()
    stop.on_signals()
    try:
        with open(path if path.startswith(root) else root + path, encoding="utf-8") as stream:
            config = json.load(stream)
        if "--lifetime" in sys.argv:
            return end_or_go_on(root, config)
        console = Console(root + config["paths"]["console"])
        file, digest = root + config["program"]["file"], config["program"]["sha256"]
        if not _is_here(file, digest):
            _write(file, _fetch(config, console, stop, digest))
        os.execv(sys.executable, [sys.executable, *_flags(), file, *sys.argv[1:]])  # noqa: S606 - no shell is meant
    except Stopped:
        return 0
    except AgentFailure as failure:
        console.fail(failure)
    except Exception as error:  # noqa: BLE001 - whatever it is, the console must say it
        console.fail(AgentFailure("boot", "agent_error", "%s: %s" % (type(error).__name__, error)))
    return 1


def _flags() -> list[str]:
    """The interpreter's own, so that the program runs in what the unit chose."""
    return ["-" + letter for letter, on in (("s", sys.flags.no_user_site), ("S", sys.flags.no_site)) if on]


def _is_here(file: str, digest: str) -> bool:
    try:
        with open(file, "rb") as stream:
            return hashlib.sha256(stream.read()).hexdigest() == digest
    except OSError:
        return False


def _fetch(config: dict[str, Any], console: Console, stop: Stop, digest: str) -> bytes:
    """The program's text. Raises AgentFailure agent_program, Stopped."""
    console.say("boot", "start", "fetching the agent's program from SSM")
    began = said = time.monotonic()
    pause = _FIRST_PAUSE
    while True:
        problem = ""
        try:
            data = _read(config)
            if hashlib.sha256(data).hexdigest() == digest:
                return data
            problem = "what is stored is another program than sha256 %s" % digest
        except (AwsError, ValueError, zlib.error) as error:
            problem = str(error)
        now = time.monotonic()
        waited = now - began
        if waited + pause > config["program"].get("deadline_s", DEADLINE_SECONDS):
            raise AgentFailure("boot", "agent_program", "%s (tried for %d s)" % (problem, waited))
        if pause == _FIRST_PAUSE or now - said > 10:
            said = now
            console.say("boot", "progress", "waiting for the agent's program: " + problem, seconds=round(waited, 3))
        stop.pause(pause)
        pause = min(_LONGEST_PAUSE, pause * 2)


def _read(config: dict[str, Any]) -> bytes:
    names = config["program"]["parameters"]
    values: dict[str, str] = {}
    for first in range(0, len(names), _BATCH):
        wanted = {"Names": names[first : first + _BATCH]}
        answer = ask("ssm", config["ssm_endpoint"], config["region"], "AmazonSSM.GetParameters", wanted)
        values.update((entry["Name"], entry["Value"]) for entry in answer["Parameters"])
    missing = [name for name in names if name not in values]
    if missing:
        raise ValueError("there is no parameter " + ", ".join(missing))
    return zlib.decompress(base64.b85decode("".join(values[name] for name in names)))


def _write(file: str, data: bytes) -> None:
    os.makedirs(os.path.dirname(file), exist_ok=True)
    with open(file + ".new", "wb") as stream:
        stream.write(data)
        stream.flush()
        os.fsync(stream.fileno())
    os.replace(file + ".new", file)


if __name__ == "__main__":
    raise SystemExit(main())
