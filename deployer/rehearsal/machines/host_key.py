"""A machine's own ssh host key, made at its first boot."""

from __future__ import annotations

from pathlib import Path

import paramiko
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

_PRIVATE = "etc/ssh/ssh_host_ed25519_key"
_PUBLIC = _PRIVATE + ".pub"


def ensure_host_key(root: Path, comment: str) -> paramiko.PKey:
    """Make the ed25519 key below root unless it is there."""
    path = root / _PRIVATE
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch(mode=0o600)
        path.write_bytes(
            Ed25519PrivateKey.generate().private_bytes(Encoding.PEM, PrivateFormat.OpenSSH, NoEncryption())
        )
        key = paramiko.Ed25519Key.from_private_key_file(str(path))
        (root / _PUBLIC).write_text(f"{key.get_name()} {key.get_base64()} {comment}\n", encoding="ascii")
        return key
    return paramiko.Ed25519Key.from_private_key_file(str(path))


def console_block(root: Path) -> str:
    """What cloud-init prints of the host keys, so that a client can pin them."""
    line = (root / _PUBLIC).read_text(encoding="ascii").strip()
    return f"-----BEGIN SSH HOST KEY KEYS-----\n{line}\n-----END SSH HOST KEY KEYS-----"
