"""The instance metadata service, version 2 only."""

from __future__ import annotations

import json
import os

from .sigv4 import Credentials
from .web import NETWORK_ERRORS, call

_ROLE_PATH = "iam/security-credentials/"


class MetadataError(Exception):
    """The metadata service did not give what was asked for."""


def role_credentials() -> Credentials:
    """The instance role's credentials. Raises MetadataError: none yet, or no metadata service at all."""
    base = os.environ.get("AWS_EC2_METADATA_SERVICE_ENDPOINT", "http://169.254.169.254").rstrip("/")
    token = _ask(base + "/latest/api/token", "PUT", {"X-aws-ec2-metadata-token-ttl-seconds": "300"})
    header = {"X-aws-ec2-metadata-token": token}
    role = _ask(base + "/latest/meta-data/" + _ROLE_PATH, "GET", header).split("\n")[0].strip()
    answer = _ask(base + "/latest/meta-data/" + _ROLE_PATH + role, "GET", header)
    try:
        document = json.loads(answer)
        return Credentials(document["AccessKeyId"], document["SecretAccessKey"], document["Token"])
    except (ValueError, KeyError, TypeError) as error:
        raise MetadataError("metadata service: no credentials of role %r yet (%s)" % (role, error)) from None


def _ask(url: str, method: str, headers: dict[str, str]) -> str:
    try:
        status, body = call(url, 5, method=method, headers=headers, direct=True)
    except NETWORK_ERRORS as error:
        raise MetadataError("metadata service: %s" % error) from None
    if status != 200:
        raise MetadataError("metadata service: HTTP %d for %s" % (status, url.split("/latest/")[-1]))
    return body.decode("utf-8", "replace")
