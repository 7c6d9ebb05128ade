"""The endpoint's own TLS certificate: made on the instance, which its private key never leaves.

The certificate goes to the console, so that clients learn it through AWS and can trust it alone.
"""

from __future__ import annotations

import contextlib
import os
import subprocess

from . import imds
from .config import Config
from .console import Phase

#: The instance lives shorter, and a pinned certificate needs no date to be distrusted.
_DAYS = "3650"


def obtain(config: Config, phase: Phase) -> str | None:
    """The certificate (PEM), made unless this boot has one; None without TLS. Raises AgentFailure runtime_missing."""
    if config.tls_certificate is None or config.tls_key is None:
        return None
    if not (os.path.exists(config.tls_certificate) and os.path.exists(config.tls_key)):
        _make(config.tls_key, config.tls_certificate, phase)
    with open(config.tls_certificate, encoding="ascii") as stream:
        return stream.read()


def _make(key: str, certificate: str, phase: Phase) -> None:
    os.makedirs(os.path.dirname(key), mode=0o700, exist_ok=True)
    # There before openssl writes, so that nobody else can read it for a moment.
    os.close(os.open(key + ".new", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600))
    names = ",".join(["DNS:localhost", *("IP:" + address for address in ["127.0.0.1", *_addresses()])])
    command = [
        *("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"),
        *("-sha256", "-days", _DAYS, "-subj", "/CN=deployer", "-keyout", key + ".new", "-out", certificate + ".new"),
        *("-addext", "subjectAltName=" + names),
        *("-addext", "keyUsage=critical,digitalSignature,keyCertSign", "-addext", "extendedKeyUsage=serverAuth"),
    ]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError as error:
        raise phase.failure("runtime_missing", "no certificate without openssl: %s" % error) from None
    if done.returncode:
        raise phase.failure("runtime_missing", "openssl makes no certificate", done.stderr.splitlines())
    os.replace(key + ".new", key)
    os.replace(certificate + ".new", certificate)


def _addresses() -> list[str]:
    """Those that the instance has now, for clients that compare; without them it is pinned all the same."""
    with contextlib.suppress(imds.MetadataError):
        return imds.addresses()
    return []
