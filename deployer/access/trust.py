"""How programs other than ours trust an endpoint's certificate: files that the usual variables name."""

from __future__ import annotations

import os
import ssl
from pathlib import Path


def write_trust(folder: Path, stack: str, certificate: str) -> dict[str, str]:
    """Write the files and give the variables.

    SSL_CERT_FILE (OpenSSL, Python's httpx and openai) and CURL_CA_BUNDLE replace what a program trusts, so their file
    holds the authorities that were trusted before too; NODE_EXTRA_CA_CERTS adds to them.
    """
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    alone, bundle = folder / f"{stack}.pem", folder / f"{stack}.bundle.pem"
    _write(alone, certificate)
    _write(bundle, f"{certificate.rstrip()}\n{_trusted_before(folder)}")
    return {"SSL_CERT_FILE": str(bundle), "CURL_CA_BUNDLE": str(bundle), "NODE_EXTRA_CA_CERTS": str(alone)}


def _trusted_before(folder: Path) -> str:
    """What SSL_CERT_FILE names, or OpenSSL's own file; never one that was written here, which would grow each time."""
    paths = ssl.get_default_verify_paths()
    for name in (paths.cafile, paths.openssl_cafile):
        if name and Path(name).is_file() and Path(name).parent != folder:
            return Path(name).read_text(encoding="utf-8", errors="replace")
    return ""


def _write(path: Path, text: str) -> None:
    scratch = path.with_name(f".{path.name}.{os.getpid()}")
    scratch.write_text(text, encoding="utf-8")
    scratch.replace(path)
