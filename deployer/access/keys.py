"""SSH private keys: one made here and kept 0600, or one the user already has."""

from __future__ import annotations

import os
import secrets
from pathlib import Path

from deployer.errors import RefusedError

#: For a key that another machine has.
MISSING_HINT = (
    "copy that file from the machine that ran `deployer up` first, or set access.key to where you have it and run "
    "`deployer up`"
)


def ensure_private_key(path: Path) -> str:
    """The public key of the private key at `path`, which is made (ed25519, 0600, its folder 0700) when missing.

    A file that exists is never overwritten, and two callers at once end with the same key.
    Returns `ssh-ed25519 AAAA...`. Raises RefusedError when the existing file is not a usable key.
    """
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        _create_atomically(path, _new_private_key())
    return public_key_of(path)


def public_key_of(path: Path) -> str:
    """The public key of an existing private key, as `type base64`.

    Raises RefusedError when the file is missing, not a private key, protected by a passphrase, or of a type that EC2
    does not import.
    """
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric import ed25519, rsa

    key = _load(path)
    if not isinstance(key, ed25519.Ed25519PrivateKey | rsa.RSAPrivateKey):
        raise RefusedError(
            f"{path} is a key of a type EC2 does not import (it takes ed25519 and RSA)",
            where=str(path),
            hint="name another key in access.key, or leave it out and one is made",
        )
    encoded = key.public_key().public_bytes(serialization.Encoding.OpenSSH, serialization.PublicFormat.OpenSSH)
    return encoded.decode("ascii")


def _load(path: Path) -> object:
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives import serialization

    try:
        data = path.expanduser().read_bytes()
    except FileNotFoundError as error:
        raise RefusedError(
            f"the private key {path} is not on this machine",
            where=str(path),
            hint=MISSING_HINT,
        ) from error
    except OSError as error:
        raise RefusedError(
            f"the SSH key {path} cannot be read: {error.strerror}",
            where=str(path),
            hint="check access.key, or leave it out and a key is made for the stack",
        ) from error
    load = (
        serialization.load_ssh_private_key
        if b"BEGIN OPENSSH PRIVATE KEY" in data
        else serialization.load_pem_private_key
    )
    try:
        return load(data, None)
    except TypeError as error:
        raise RefusedError(
            f"the SSH key {path} is protected by a passphrase",
            where=str(path),
            hint="deployer never asks for a passphrase: name a key without one, or leave access.key out",
        ) from error
    except (ValueError, UnsupportedAlgorithm) as error:
        raise RefusedError(
            f"{path} is not a private key in OpenSSH or PEM format",
            where=str(path),
            hint="access.key names the private half (not the .pub file)",
        ) from error


def _new_private_key() -> bytes:
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric import ed25519

    return ed25519.Ed25519PrivateKey.generate().private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.OpenSSH, serialization.NoEncryption()
    )


def _create_atomically(path: Path, data: bytes) -> None:
    """Write beside `path`, then link: a link fails when the name is taken, so nobody's key is ever replaced."""
    scratch = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    descriptor = os.open(scratch, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        try:
            os.link(scratch, path)
        except FileExistsError:
            return
    finally:
        scratch.unlink(missing_ok=True)
