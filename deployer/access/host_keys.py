"""The instance's SSH host keys, as it printed them on its own console.

Two writers: cloud-init's block, and the agent's `boot done` line. The console reaches us through the AWS API, so a
machine in the network path cannot forge it.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import re
from collections.abc import Iterable

from deployer.agent.protocol import CONSOLE_PREFIX, decode_line

_BEGIN = "-----BEGIN SSH HOST KEY KEYS-----"
_END = "-----END SSH HOST KEY KEYS-----"
_KEY = re.compile(r"\b(ssh-ed25519|ssh-rsa|ecdsa-sha2-nistp(?:256|384|521)) (AAAA[A-Za-z0-9+/]+={0,2})(?=\s|$)")


def from_console(text: str) -> list[str]:
    """The host keys of the last boot on the console, each `type base64`; empty when none was printed whole."""
    latest: list[str] = []
    block: list[str] | None = None
    for line in text.splitlines():
        if CONSOLE_PREFIX in line:
            latest = _from_agent(line) or latest
        elif _BEGIN in line:
            block = []
        elif _END in line:
            latest = block or latest
            block = None
        elif block is not None:
            block.extend(_valid(_KEY.findall(line)))
    return latest


def fingerprint(key: str) -> str:
    """`SHA256:...` of a `type base64` key, as ssh-keygen and OpenSSH print it."""
    digest = hashlib.sha256(base64.b64decode(key.split()[1])).digest()
    return "SHA256:" + base64.b64encode(digest).decode("ascii").rstrip("=")


def _from_agent(line: str) -> list[str]:
    body = decode_line(line)
    if body is None or body["phase"] != "boot" or body["state"] != "done":
        return []
    keys = body.get("host_keys")
    if not isinstance(keys, list):
        return []
    return _valid(pair for key in keys if isinstance(key, str) for pair in _KEY.findall(key))


def _valid(pairs: Iterable[tuple[str, str]]) -> list[str]:
    """Only keys whose blob decodes and names the same type: a line cut or interleaved on the console is dropped."""
    found: list[str] = []
    for kind, blob in pairs:
        try:
            raw = base64.b64decode(blob, validate=True)
        except binascii.Error:
            continue
        fields = _fields(raw)
        if len(fields) > 1 and fields[0] == kind.encode("ascii"):
            found.append(f"{kind} {blob}")
    return found


def _fields(raw: bytes) -> list[bytes]:
    """The length-prefixed fields of a key blob; empty when the last one is cut."""
    fields: list[bytes] = []
    while raw:
        end = 4 + int.from_bytes(raw[:4], "big")
        if len(raw) < end:
            return []
        fields.append(raw[4:end])
        raw = raw[end:]
    return fields
