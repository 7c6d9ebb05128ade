"""The instance metadata service, version 2 only."""

from __future__ import annotations

import json
import os
from typing import Any

from .sigv4 import Credentials
from .web import NETWORK_ERRORS, call


class MetadataError(Exception):
    """The metadata service did not give what was asked for."""


def role_credentials() -> Credentials:
    """The instance role's credentials. Raises MetadataError: none yet, or no metadata service at all."""
    base = _base()
    roles = base + "meta-data/iam/security-credentials/"
    try:
        header = _header(base)
        role = _ask(roles, "GET", header).split()[0]
        document = json.loads(_ask(roles + role, "GET", header))
        return Credentials(document["AccessKeyId"], document["SecretAccessKey"], document["Token"])
    except (ValueError, LookupError, *NETWORK_ERRORS) as error:
        raise MetadataError("metadata service at %s: %s %s" % (base, type(error).__name__, error)) from None


def addresses() -> list[str]:
    """The instance's IPv4 addresses: inside the VPC, and outside if it has one. Raises MetadataError."""
    base = _base()
    found = []
    try:
        header = _header(base)
        for name in ("local-ipv4", "public-ipv4"):
            status, body = call(base + "meta-data/" + name, 5, headers=header, direct=True)
            if status == 200:
                found.append(body.decode("ascii").strip())
    except (ValueError, *NETWORK_ERRORS) as error:
        raise MetadataError("metadata service at %s: %s" % (base, error)) from None
    return found


def document(path: str) -> Any:
    """The JSON below meta-data; None when there is none now. Raises MetadataError, ValueError."""
    base = _base()
    try:
        status, body = call(base + "meta-data/" + path, 5, headers=_header(base), direct=True)
    except NETWORK_ERRORS as error:
        raise MetadataError("metadata service at %s: %s" % (base, error)) from None
    return json.loads(body) if status == 200 else None


def _base() -> str:
    return os.environ.get("AWS_EC2_METADATA_SERVICE_ENDPOINT", "http://169.254.169.254").rstrip("/") + "/latest/"


def _header(base: str) -> dict[str, str]:
    token = _ask(base + "api/token", "PUT", {"X-aws-ec2-metadata-token-ttl-seconds": "300"})
    return {"X-aws-ec2-metadata-token": token}


def _ask(url: str, method: str, headers: dict[str, str]) -> str:
    status, body = call(url, 5, method=method, headers=headers, direct=True)
    if status != 200:
        raise MetadataError("metadata service: HTTP %d for %s" % (status, url))
    return body.decode()
