"""The endpoint's API key: from SSM by the instance's role, into a file only its owner reads."""

from __future__ import annotations

import hashlib
import json
import os
import time

from .config import Config
from .console import Phase
from .imds import MetadataError, role_credentials
from .sigv4 import sign
from .stop import Stop
from .web import NETWORK_ERRORS, call

#: SSM's answers that another try does not change. AccessDenied is not among them: a new role takes seconds to be known.
_FINAL = ("ParameterNotFound", "ValidationException", "InvalidKeyId")


class _Again(Exception):
    """Not yet; worth another try."""


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
            key = _from_ssm(config, config.key_parameter, phase)
            break
        except (_Again, MetadataError) as error:
            if time.monotonic() + pause > deadline:
                raise phase.failure("key_rejected", str(error)) from None
            phase.progress("waiting for the API key: %s" % error)
        stop.pause(pause)
        pause = min(5.0, pause * 2)
    phase.console.hide(key)
    write_private(config.key_file, key + "\n")
    return key


def _from_ssm(config: Config, parameter: str, phase: Phase) -> str:
    environ = os.environ
    endpoint = environ.get("AWS_ENDPOINT_URL_SSM") or environ.get("AWS_ENDPOINT_URL") or config.ssm_endpoint
    url = str(endpoint).rstrip("/") + "/"
    body = json.dumps({"Name": parameter, "WithDecryption": True}).encode()
    headers = sign(
        role_credentials(),
        "POST",
        url,
        {"Content-Type": "application/x-amz-json-1.1", "X-Amz-Target": "AmazonSSM.GetParameter"},
        hashlib.sha256(body).hexdigest(),
        "ssm",
        config.region,
        time.time(),
    )
    try:
        status, answer = call(url, 10, method="POST", headers=headers, data=body, direct=True)
        document = json.loads(answer)
    except (ValueError, *NETWORK_ERRORS) as error:
        raise _Again("SSM at %s: %s" % (url, error)) from None
    if status == 200:
        return str(document["Parameter"]["Value"])
    code = str(document.get("__type", status)).split("#")[-1]
    text = "SSM refuses %s: %s %s" % (parameter, code, document.get("message") or document.get("Message"))
    if code in _FINAL:
        raise phase.failure("key_rejected", text)
    raise _Again(text)


def write_private(path: str, text: str) -> None:
    """Replace a file atomically by one with mode 0600."""
    os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
    descriptor = os.open(path + ".new", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as stream:
        stream.write(text)
    os.replace(path + ".new", path)
