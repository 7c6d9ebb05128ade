"""One call of an AWS service that speaks JSON, signed with the instance's role."""

from __future__ import annotations

import hashlib
import json
import os
import time
from typing import Any

from .imds import MetadataError, role_credentials
from .sigv4 import sign
from .web import NETWORK_ERRORS, call


class AwsError(Exception):
    """No usable answer. code: AWS's own; empty when it was never asked or did not answer."""

    def __init__(self, code: str, text: str) -> None:
        super().__init__(text)
        self.code = code


def ask(service: str, endpoint: object, region: str, target: str, body: dict[str, Any]) -> Any:
    """The answer's document. endpoint: unless the environment names another. Raises AwsError."""
    environ = os.environ
    endpoint = environ.get("AWS_ENDPOINT_URL_" + service.upper()) or environ.get("AWS_ENDPOINT_URL") or endpoint
    url, data = str(endpoint).rstrip("/") + "/", json.dumps(body).encode()
    headers = {"Content-Type": "application/x-amz-json-1.1", "X-Amz-Target": target}
    digest = hashlib.sha256(data).hexdigest()
    try:
        headers = sign(role_credentials(), "POST", url, headers, digest, service, region, time.time())
        status, answer = call(url, 10, method="POST", headers=headers, data=data, direct=True)
        document = json.loads(answer)
    except (MetadataError, ValueError, *NETWORK_ERRORS) as error:
        raise AwsError("", "%s at %s: %s" % (service, url, error)) from None
    if status == 200:
        return document
    code = str(document.get("__type", status)).split("#")[-1]
    text = document.get("message") or document.get("Message")
    raise AwsError(code, "%s refuses %s: %s %s" % (service, list(body.values()), code, text))
