"""The endpoint's API key: from SSM by the instance's role, into a file only its owner reads."""

from __future__ import annotations

import os
import time

from .aws import AwsError, ask
from .config import Config
from .console import Phase
from .stop import Stop

#: SSM's answers that another try does not change. AccessDenied is not among them: a new role takes seconds to be known.
_FINAL = ("ParameterNotFound", "ValidationException", "InvalidKeyId")


def obtain(config: Config, phase: Phase, stop: Stop) -> str:
    """The key, written to the key file as well. Raises AgentFailure key_rejected."""
    if config.key_parameter is None:
        try:
            with open(config.key_file, encoding="utf-8") as stream:
                words = [line.strip() for line in stream if not line.startswith("#")]
        except OSError as error:
            raise phase.failure("key_rejected", "the API key file: %s" % error) from None
        key = "".join(words[:1])
        if not key:
            raise phase.failure("key_rejected", "no key in the API key file %s" % config.key_file)
        phase.console.hide(key)
        return key
    deadline = time.monotonic() + config.key_s
    pause = config.retry_s
    while True:
        try:
            wanted = {"Name": config.key_parameter, "WithDecryption": True}
            answer = ask("ssm", config.ssm_endpoint, config.region, "AmazonSSM.GetParameter", wanted)
            break
        except AwsError as error:
            if error.code in _FINAL or time.monotonic() + pause > deadline:
                raise phase.failure("key_rejected", str(error)) from None
            phase.progress("waiting for the API key: %s" % error)
        stop.pause(pause)
        pause = min(5.0, pause * 2)
    key = str(answer["Parameter"]["Value"])
    phase.console.hide(key)
    write_private(config.key_file, key + "\n")
    return key


def write_private(path: str, text: str) -> None:
    """Replace a file atomically by one with mode 0600."""
    os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
    descriptor = os.open(path + ".new", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as stream:
        stream.write(text)
    os.replace(path + ".new", path)
