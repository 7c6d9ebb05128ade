"""A SecureString read without decryption is ciphertext; moto hands out `kms:<key>:<plain text>`."""

from __future__ import annotations

import base64
import hashlib
import json
from dataclasses import replace
from typing import Any

from deployer.rehearsal.fidelity.call import Call, Proceed, Reply


def secure_strings(call: Call, proceed: Proceed) -> Reply:
    """The rule."""
    reply = proceed(call)
    if call.service != "ssm" or b'"SecureString"' not in reply.body or call.document.get("WithDecryption"):
        return reply
    return replace(reply, body=json.dumps(_hidden(json.loads(reply.body))).encode())


def _hidden(value: Any) -> Any:
    if isinstance(value, list):
        return [_hidden(item) for item in value]
    if not isinstance(value, dict):
        return value
    found = {key: _hidden(item) for key, item in value.items()}
    if found.get("Type") == "SecureString" and "Value" in found:
        digest = hashlib.sha512(str(found["Value"]).encode()).digest()
        found["Value"] = base64.b64encode(b"\x01\x02\x03\x00" + digest).decode()
    return found
