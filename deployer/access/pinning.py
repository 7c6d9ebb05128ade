"""TLS towards one known server: exactly its certificate is trusted, no authority and no other name."""

from __future__ import annotations

import hashlib
import ssl


def context_for(certificate: str | None) -> ssl.SSLContext | bool:
    """What httpx takes as `verify`. certificate: PEM; None for an endpoint that speaks plain HTTP.

    Whoever answers must hold that certificate's private key, so the name it was asked by proves nothing more: through
    a tunnel it is this machine's.
    """
    if certificate is None:
        # Plain HTTP has nothing to verify; should it lead to https after all, the usual authorities count.
        return True
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.check_hostname = False
    context.load_verify_locations(cadata=certificate)
    # A certificate that somebody else has signed is as good a pin as one that signed itself.
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    return context


def fingerprint(certificate: str) -> str:
    """SHA-256 of the first certificate in PEM text, as `openssl x509 -fingerprint -sha256` prints it.

    Raises ValueError when there is none.
    """
    begin, end = certificate.find(ssl.PEM_HEADER), certificate.find(ssl.PEM_FOOTER)
    if begin < 0 or end < begin:
        raise ValueError("no certificate in the text")
    digest = hashlib.sha256(ssl.PEM_cert_to_DER_cert(certificate[begin : end + len(ssl.PEM_FOOTER)])).hexdigest()
    return ":".join(digest[at : at + 2].upper() for at in range(0, len(digest), 2))
