"""The endpoint's API key: from SSM by the instance's role, into a file only its owner reads."""

from __future__ import annotations

import hashlib
import json
import os
import time

from . import imds
from .config import Config
from .console import Console, Phase
from .protocol import AgentFailure
from .sigv4 import sign
from .stop import Stop
from .web import NETWORK_ERRORS, call

#: SSM's answers that another try does not change. AccessDenied is not among them: a new role takes seconds to be known.
_FINAL = ("ParameterNotFound", "ValidationException", "InvalidKeyId", "ParameterVersionNotFound")


class _Again(Exception):
    """Not yet; worth another try."""


def obtain(config: Config, console: Console, phase: Phase, stop: Stop) -> str:
    """The key, written to the key file as well. Raises AgentFailure key_rejected."""
    if config.key_parameter is None:
        return _read(config, console, phase)
    deadline = time.monotonic() + config.key_s
    pause = config.retry_s
    while True:
        try:
            key = _from_ssm(config, config.key_parameter, phase)
            break
        except (_Again, imds.MetadataError) as error:
            if time.monotonic() + pause > deadline:
                raise AgentFailure(phase.name, "key_rejected", str(error)) from None
            phase.progress("waiting for the API key: %s" % error)
        stop.pause(pause)
        pause = min(5.0, pause * 2)
    console.hide(key)
    write_private(config.key_file, key + "\n")
    return key


def _read(config: Config, console: Console, phase: Phase) -> str:
    try:
        with open(config.key_file, encoding="utf-8") as stream:
            lines = [line.strip() for line in stream]
    except OSError as error:
        raise AgentFailure(phase.name, "key_rejected", "the API key file cannot be read: %s" % error) from None
    keys = [line for line in lines if line and not line.startswith("#")]
    if not keys:
        raise AgentFailure(phase.name, "key_rejected", "the API key file %s is empty" % config.key_file)
    for key in keys:
        console.hide(key)
    return keys[0]


def _from_ssm(config: Config, parameter: str, phase: Phase) -> str:
    endpoint = (
        os.environ.get("AWS_ENDPOINT_URL_SSM") or os.environ.get("AWS_ENDPOINT_URL") or config.ssm_endpoint or ""
    ).rstrip("/")
    body = json.dumps({"Name": parameter, "WithDecryption": True}).encode()
    headers = sign(
        imds.role_credentials(),
        "POST",
        endpoint + "/",
        {"Content-Type": "application/x-amz-json-1.1", "X-Amz-Target": "AmazonSSM.GetParameter"},
        hashlib.sha256(body).hexdigest(),
        "ssm",
        config.region,
        time.time(),
    )
    try:
        status, answer = call(endpoint + "/", 10, method="POST", headers=headers, data=body, direct=True)
        document = json.loads(answer)
    except (ValueError, *NETWORK_ERRORS) as error:
        raise _Again("SSM at %s: %s" % (endpoint, error)) from None
    if status == 200:
        return str(document["Parameter"]["Value"])
    code = str(document.get("__type", "HTTP %d" % status)).split("#")[-1]
    text = "SSM refuses %s: %s %s" % (parameter, code, document.get("message") or document.get("Message") or "")
    if code in _FINAL:
        raise AgentFailure(phase.name, "key_rejected", text)
    raise _Again(text)


def write_private(path: str, text: str) -> None:
    """Replace a file atomically by one with mode 0600."""
    os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
    temporary = "%s.%d.new" % (path, os.getpid())
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as stream:
        stream.write(text)
        stream.flush()
        os.fsync(stream.fileno())
    os.replace(temporary, path)
