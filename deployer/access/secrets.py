"""API keys, made on the operator's machine."""

from __future__ import annotations

import secrets

_BITS = 256


def new_api_key() -> str:
    """A fresh key of 256 random bits: `sk-` and 43 URL-safe characters, accepted by OpenAI clients as it is."""
    return "sk-" + secrets.token_urlsafe(_BITS // 8)
