"""HTTP with the standard library: an error status is an answer, not an exception."""

from __future__ import annotations

import http.client
import ssl
import urllib.error
import urllib.request
from typing import Any, Mapping

#: What a broken network raises.
NETWORK_ERRORS = (OSError, http.client.HTTPException)

# Metadata, the region's own endpoints and our engine are never behind a proxy; the way to the hubs may be.
_DIRECT = urllib.request.build_opener(urllib.request.ProxyHandler({}))
_OUTSIDE = urllib.request.build_opener()
#: No answer we read whole is larger than this (bytes).
_BODY_LIMIT = 16 * 1024 * 1024


def open_url(
    url: str,
    timeout: float,
    method: str | None = None,
    headers: Mapping[str, str] | None = None,
    data: bytes | None = None,
    direct: bool = False,
    trusted: str | None = None,
) -> Any:
    """The open response (status, headers, read1), to be closed by the caller. method None: POST if there is data.

    trusted: file of the one certificate that the server may have, whatever its name.

    Raises NETWORK_ERRORS, ValueError on what is no URL.
    """
    if not url.startswith(("http://", "https://")):
        raise ValueError("%r is not an http(s) URL" % url)
    request = urllib.request.Request(url, data=data, headers=dict(headers or {}), method=method)  # noqa: S310 - checked above
    opener = _DIRECT if direct else _OUTSIDE
    if trusted:
        context = ssl.create_default_context(cafile=trusted)
        context.check_hostname = False
        opener = urllib.request.build_opener(
            urllib.request.ProxyHandler({}), urllib.request.HTTPSHandler(context=context)
        )
    try:
        return opener.open(request, timeout=timeout)
    except urllib.error.HTTPError as answer:
        return answer


def call(url: str, timeout: float, **how: Any) -> tuple[int, bytes]:
    """(status, body) of one whole exchange. Raises NETWORK_ERRORS."""
    with open_url(url, timeout, **how) as response:
        return response.status, response.read(_BODY_LIMIT)
