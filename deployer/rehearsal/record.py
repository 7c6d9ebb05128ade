"""What the emulated cloud was asked and what it answered: the list of calls, and all text for the secret search."""

from __future__ import annotations

import base64
import binascii
import json
import re
import threading
import zlib
from collections import deque
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any
from urllib.parse import unquote_plus

from deployer.rehearsal.fidelity.call import Call, Reply

#: Request and response text kept, in bytes; the oldest goes first.
KEPT_BYTES = 64 * 1024 * 1024
_CODE = re.compile(rb"<Code>([^<]+)</Code>")
_BASE64 = re.compile(rb"[A-Za-z0-9+/]{24,}={0,2}")


@dataclass(frozen=True)
class CallEntry:
    """One finished call. code: AWS's error code, None when it worked. status 0: the answer was lost on purpose.

    caller: `operator`, or the access key of an instance's role.
    """

    service: str
    operation: str
    region: str
    caller: str
    status: int
    code: str | None
    started: float
    seconds: float


@dataclass(frozen=True)
class _Text:
    place: str
    content: bytes


class Record:
    """Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._calls: list[CallEntry] = []
        self._texts: deque[_Text] = deque()
        self._bytes = 0

    def add(self, call: Call, reply: Reply | None, *, caller: str, started: float, seconds: float) -> None:
        """One call is over. reply None: it was dropped."""
        code = None if reply is None or reply.status < 400 else reply.code or error_code(reply)
        status = 0 if reply is None else reply.status
        with self._lock:
            number = len(self._calls)
            self._calls.append(
                CallEntry(call.service, call.operation, call.region, caller, status, code, started, round(seconds, 6))
            )
            place = f"{number}:{call.service}:{call.operation}"
            head = str({k: v for k, v in call.environ.items() if k.startswith("HTTP_") or k == "REQUEST_URI"})
            self._keep(_Text(f"{place}:headers", head.encode()))
            self._keep(_Text(f"{place}:request", _without_secret_value(call.body)))
            if reply is not None:
                self._keep(_Text(f"{place}:response", _without_secret_value(reply.body)))

    def calls(self, since: int = 0) -> list[dict[str, Any]]:
        """The calls from number `since` on, in the order they ended."""
        with self._lock:
            return [asdict(entry) for entry in self._calls[since:]]

    @property
    def count(self) -> int:
        """How many calls there were."""
        with self._lock:
            return len(self._calls)

    def places(self, needle: bytes) -> list[str]:
        """`<number>:<service>:<operation>:<headers|request|response>` of every text that contains the needle.

        Form encoding, base64 and gzip are looked through. The value of a SecureString parameter is left out: that is
        where a secret belongs.
        """
        with self._lock:
            texts = list(self._texts)
        return [text.place for text in texts if contains(text.content, needle)]

    def _keep(self, text: _Text) -> None:
        self._texts.append(text)
        self._bytes += len(text.content)
        while self._bytes > KEPT_BYTES:
            self._bytes -= len(self._texts.popleft().content)


def contains(content: bytes, needle: bytes) -> bool:
    """Whether the needle is in the content as it is, form-decoded, or inside base64 (gzipped or not)."""
    return any(needle in layer for layer in _layers(content, depth=3))


def error_code(reply: Reply) -> str:
    """AWS's error code in an error reply, or the HTTP status as text."""
    if found := _CODE.search(reply.body):
        return found.group(1).decode()
    try:
        return str(json.loads(reply.body)["__type"]).rpartition("#")[2]
    except (ValueError, KeyError, TypeError):
        return str(reply.status)


def _layers(content: bytes, depth: int) -> Iterator[bytes]:
    yield content
    if not depth:
        return
    decoded = unquote_plus(content.decode("latin-1")).encode("latin-1", "replace") if b"%" in content else content
    if decoded != content:
        yield decoded
    for match in _BASE64.finditer(decoded):
        try:
            inner = base64.b64decode(match.group(), validate=True)
        except binascii.Error:
            continue
        if inner[:2] == b"\x1f\x8b":
            inner = zlib.decompressobj(31).decompress(inner)
        yield from _layers(inner, depth - 1)


def _without_secret_value(body: bytes) -> bytes:
    if b"SecureString" not in body:
        return body
    try:
        return json.dumps(_redacted(json.loads(body))).encode()
    except ValueError:
        return body


def _redacted(value: Any) -> Any:
    if isinstance(value, list):
        return [_redacted(item) for item in value]
    if not isinstance(value, dict):
        return value
    secret = value.get("Type") == "SecureString"
    return {k: "(a SecureString's value)" if secret and k == "Value" else _redacted(v) for k, v in value.items()}
