"""AWS Signature Version 4 for requests that carry their signature in a header."""

from __future__ import annotations

import hashlib
import hmac
import time
import urllib.parse
from typing import Mapping, NamedTuple

UNSIGNED = "UNSIGNED-PAYLOAD"


class Credentials(NamedTuple):
    """A role's temporary credentials."""

    access_key: str
    secret_key: str
    token: str


def sign(
    credentials: Credentials,
    method: str,
    url: str,
    headers: Mapping[str, str],
    payload_hash: str,
    service: str,
    region: str,
    now: float,
) -> dict[str, str]:
    """`headers` and what the signature adds to them. now: seconds since the epoch. url: final, percent-encoded."""
    parts = urllib.parse.urlsplit(url)
    stamp = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime(now))
    signed = dict(headers)
    signed["X-Amz-Date"] = stamp
    signed["X-Amz-Security-Token"] = credentials.token
    if service == "s3":
        signed["X-Amz-Content-Sha256"] = payload_hash
    lower = {name.lower(): " ".join(value.split()) for name, value in signed.items()}
    lower["host"] = parts.netloc
    names = ";".join(sorted(lower))
    # S3 alone signs the path as it is sent; every other service wants it encoded once more.
    path = parts.path or "/"
    canonical = "\n".join(
        [
            method,
            path if service == "s3" else urllib.parse.quote(path, safe="/-_.~"),
            "&".join(sorted(parts.query.split("&"))) if parts.query else "",
            *("%s:%s" % (name, lower[name]) for name in sorted(lower)),
            "",
            names,
            payload_hash,
        ]
    )
    scope = "/".join([stamp[:8], region, service, "aws4_request"])
    key = ("AWS4" + credentials.secret_key).encode()
    for step in scope.split("/"):
        key = hmac.new(key, step.encode(), hashlib.sha256).digest()
    text = "\n".join(["AWS4-HMAC-SHA256", stamp, scope, hashlib.sha256(canonical.encode()).hexdigest()])
    signed["Authorization"] = "AWS4-HMAC-SHA256 Credential=%s/%s, SignedHeaders=%s, Signature=%s" % (
        credentials.access_key,
        scope,
        names,
        hmac.new(key, text.encode(), hashlib.sha256).hexdigest(),
    )
    return signed
