"""The time to live is over, says the timer: it ends the instance unless the stack record names a later end by now.

What cannot be asked, read or set anew ends the instance too: a lifetime that nobody can prove is over.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import time
from typing import Any

from .aws import AwsError, ask

TIMER = "deployer-ttl.timer"
_FOLDER = "/etc/systemd/system/"
#: A new end nearer than this is not worth a timer.
_SOON_SECONDS = 5.0
#: How often AWS is asked, and how long between two tries.
_TRIES, _PAUSE_SECONDS = 6, 10.0


def end_or_go_on(root: str, config: dict[str, Any], pause: float = _PAUSE_SECONDS) -> int:
    """0: the timer is set to the later end. Otherwise the instance is told to power off, which terminates it."""
    try:
        where = (config["record"], config["ssm_endpoint"], config["region"])
        until = stack_record(*where, _TRIES, pause)["expires_at"]
        if until is not None and until > time.time() + _SOON_SECONDS:
            _set_timer(root + _FOLDER + TIMER, until)
            return 0
    except Exception as error:  # noqa: BLE001 - whatever it is, the instance must not go on for ever
        print("deployer: the end of the stack could not be moved: %s" % error, flush=True)
    subprocess.run(["systemctl", "poweroff"], check=False)
    return 1


def stack_record(name: str, endpoint: object, region: str, tries: int, pause: float) -> Any:
    """The document that SSM has of the stack. Raises when AWS does not tell in so many tries."""
    for left in range(tries - 1, -1, -1):
        try:
            answer = ask("ssm", endpoint, region, "AmazonSSM.GetParameters", {"Names": [name]})
            break
        except AwsError:
            if not left:
                raise
            time.sleep(pause)
    return json.loads(answer["Parameters"][0]["Value"])


def _set_timer(path: str, until: float) -> None:
    with open(path, encoding="utf-8") as stream:
        text = stream.read()
    moment = time.strftime("OnCalendar=%Y-%m-%d %H:%M:%S UTC", time.gmtime(until))
    with open(path + ".new", "w", encoding="utf-8") as stream:
        stream.write(re.sub("OnCalendar=.*", moment, text))
    os.replace(path + ".new", path)
    for words in (["daemon-reload"], ["restart", "--no-block", TIMER]):
        subprocess.run(["systemctl", *words], check=True)
