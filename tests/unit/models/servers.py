"""A real HTTP server that serves one file in the ways that servers do it wrong."""

from __future__ import annotations

import datetime
import ipaddress
import re
import ssl
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import ClassVar

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from deployer.rehearsal.loopback_http import LoopbackServer


class Odd:
    """ranges False: always the whole file. statuses: sent first, one for each request. sent: bytes of bodies."""

    def __init__(self, body: bytes, *, ranges: bool = True, statuses: tuple[int, ...] = (), etag: str = '"1"') -> None:
        self.body = body
        self.ranges = ranges
        self.statuses = list(statuses)
        self.etag = etag
        self.sent = 0
        self.redirects: dict[str, dict[str, str]] = {}
        self.server = LoopbackServer("127.0.0.1", type("Handler", (_Handler,), {"odd": self}), name="odd")
        self.url = self.server.url


class _Handler(BaseHTTPRequestHandler):
    odd: ClassVar[Odd]
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        odd = self.odd
        if self.path in odd.redirects:
            self._head(302, 0, odd.redirects[self.path])
            return
        if odd.statuses:
            self._head(odd.statuses.pop(0), 0, {})
            return
        asked = re.fullmatch(r"bytes=(\d+)-(\d+)", self.headers.get("Range", ""))
        if asked is None or not odd.ranges or self.headers.get("If-Range", odd.etag) != odd.etag:
            self._head(200, len(odd.body), {})
            self._send(odd.body)
            return
        first, last = int(asked[1]), min(int(asked[2]), len(odd.body) - 1)
        piece = odd.body[first : last + 1]
        span = f"bytes {first}-{last}/{len(odd.body)}"
        self._head(206, len(piece), {"Content-Range": span, "ETag": odd.etag})
        self._send(piece)

    def _head(self, status: int, length: int, headers: dict[str, str]) -> None:
        self.send_response(status)
        for name, value in {**headers, "Content-Length": str(length)}.items():
            self.send_header(name, value)
        self.end_headers()

    def _send(self, body: bytes) -> None:
        try:
            for at in range(0, len(body), 65536):
                self.wfile.write(body[at : at + 65536])
                self.odd.sent += len(body[at : at + 65536])
        except OSError:
            self.close_connection = True

    def log_message(self, format: str, *args: object) -> None:
        """Nothing."""


def untrusted(odd: Odd, folder: Path) -> str:
    """Put the server behind TLS with a certificate nobody signed but itself; returns its URL."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "127.0.0.1")])
    now = datetime.datetime.now(datetime.UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]), critical=False)
        .sign(key, hashes.SHA256())
    )
    pem = folder / "tls.pem"
    pem.write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
        + certificate.public_bytes(serialization.Encoding.PEM)
    )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(pem)
    odd.server.socket = context.wrap_socket(odd.server.socket, server_side=True)
    return odd.url.replace("http:", "https:")
